"""How the end of a task reaches its caller, stated truthfully.

Only the reply to a caller that will be notified says not to poll; any other says what to ask with.
"""

from __future__ import annotations

from typing import Any

from errands.dialects.output_text import error_text, one_line, summary
from errands.model.notices.notice import CONDITIONS
from errands.model.text.duration import spoken
from errands.model.view import AgentView, View
from errands.ports.dialect import Caller

OFFLINE = "offline"  # the agent without a model
# What people who talk with it are told.
NO_MODEL = "It has no model and only runs what you quote in `backticks`; `errands agents setup` sets one up."
_CHANNEL = "channel "  # how `wake` of a caller begins whose tasks are reported there


def is_notified(caller: Caller) -> bool:
    return caller.wake == "session" and caller.session is not None


def wake_advice(caller: Caller, ask_with: str) -> str:
    """Return what a tool's description says about learning of a task's end."""
    if is_notified(caller):
        return "You will be told when it ends; do not poll."
    if caller.wake.startswith(_CHANNEL):
        return (
            f"Its end is reported to {caller.wake.removeprefix(_CHANNEL)}, not to you; ask with {ask_with}."
        )
    return f"Nothing will tell you when it ends; ask with {ask_with}."


def wake(view: View, caller: Caller, ask_with: str) -> str:
    """Return how the caller learns of this task's end, or what to ask with; and when an agent is stopped."""
    said = _wake(view, caller, ask_with)
    if view.agent is None:
        return said
    return " ".join(filter(None, (said, _time_limit(view, view.agent), _no_model(view.agent))))


def _no_model(agent: AgentView) -> str:
    if agent.name != OFFLINE:
        return ""
    return (
        "No model answers it: the agent `offline` only runs commands that the prompt quotes. A person can "
        "set one up with `errands agents setup`."
    )


def _time_limit(view: View, agent: AgentView) -> str:
    what = "It" if view.standing is None else "Each run"
    limit = agent.timeout
    return f"{what} has no time limit." if limit is None else f"{what} is stopped after {spoken(limit)}."


def _wake(view: View, caller: Caller, ask_with: str) -> str:
    asking = f"ask with {ask_with}."
    if view.notify == "never":
        return f"Its end is reported nowhere, as `notify` is never; {asking}"
    if view.standing is None and not view.is_live and view.state != "proposed":
        return f"It has already ended; {asking}"
    end = "it ends" if view.standing is None else "a run of it ends"
    when = f"when {end}" if view.notify == "always" else CONDITIONS[view.notify]
    # A task that is resumed still notifies its owner, who may not be this caller.
    if is_notified(caller) and view.owner == caller.session:
        return f"You will be told {when}; " + ("do not poll." if view.notify == "always" else asking)
    if ways := _channels(view, caller):
        condition = "" if view.notify == "always" else f" {when}"
        return f"Its end is reported to {ways}{condition}, not to you; {asking}"
    return f"Nothing will tell you when {end}; {asking}"


def _channels(view: View, caller: Caller) -> str:
    """Name the channels that will report a task's end; an inbox only waits until its owner looks."""
    names = [each.channel for each in view.channels if each.channel != "inbox"]
    if caller.wake.startswith(_CHANNEL):
        names.append(caller.wake.removeprefix(_CHANNEL))
    return " and ".join(dict.fromkeys(names))


def approval(view: View) -> str:
    """Return which approval a task waits for, and that its caller cannot approve; empty if none."""
    if not is_waiting(view):
        return ""
    what = "It waits" if view.state == "proposed" else "Its agent waits"
    why = "; ".join(reasons(view))
    return (
        f"{what} for a person's approval{f': {why}' if why else ''}.\n"
        f"A person can say `errands approve {view.id}` or `errands reject {view.id}`; you cannot approve it."
    )


def is_waiting(view: View) -> bool:
    """Return whether a task, or what its agent wants to do next, waits for a person."""
    agent = view.agent
    is_asking = view.latest.state == "running" and agent is not None and agent.waiting == "approval"
    return view.state == "proposed" or is_asking


def reasons(view: View) -> list[str]:
    return [] if view.question is None else [one_line(each.text, 1000) for each in view.question.reasons]


def remarks(view: View) -> dict[str, Any]:
    """Return what programs need to know besides the state: what it waits for, why it failed, how far it is.

    Every dialect with structured replies adds these, so that they say whatever the text says.
    """
    found: dict[str, Any] = {}
    if said := approval(view):
        found |= {"approval": said, "reasons": reasons(view)}
    if why := error_text(view):
        found["error"] = why
    if view.progress is not None:
        progress = view.progress
        found["progress"] = {
            "percent": round(progress.percent),
            "done": progress.done,
            "total": progress.total,
        }
    if counted := summary(view):
        found["summary"] = counted
    return found
