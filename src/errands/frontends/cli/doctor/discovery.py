"""Discovering: whether somebody looks for work to propose, as the doctor sees it."""

from __future__ import annotations

from errands.engine.agents.discovery import KEY, agent_of
from errands.frontends.cli.display.format import repetition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context


def health(context: Context) -> tuple[str, str]:
    """Say how discovery does, and what to do about it; without an advice it is well."""
    if agent_of(context.config) is None:
        return (
            "discovery is enabled, but no agent is configured for it",
            'set discovery.agent, or lane = "local" for the agent that uses the local model',
        )
    known = context.engine.id_by_key(KEY)
    state = None if known is None else context.engine.task(known).state
    if known is None or state not in ("active", "paused"):
        return "discovery is enabled, but no task looks", "errands daemon stop, then errands daemon start"
    if state == "paused":
        return (
            f"{known} is paused, so nobody looks for work",
            f"errands show {known}; errands unpause {known}",
        )
    view = context.engine.get(known)
    return f"{known} looks for work: {repetition(view, at=context.engine.clock.now())}", ""
