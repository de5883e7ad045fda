"""How the end of a task reaches its caller, stated truthfully.

Only the reply to a caller that will be notified says not to poll; any other says what to ask with.
"""

from __future__ import annotations

from errands.dialects.output_text import one_line
from errands.model.notices.notice import CONDITIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.view import View
    from errands.ports.dialect import Caller


def is_notified(caller: Caller) -> bool:
    return caller.wake == "session" and caller.session is not None


def wake_advice(caller: Caller, ask_with: str) -> str:
    """Return what a tool's description says about learning of a task's end."""
    if is_notified(caller):
        return "You will be told when it ends; do not poll."
    if caller.wake.startswith("channel "):
        return f"Its end is told through {caller.wake[8:]}, not to you; ask with {ask_with}."
    return f"Nothing tells you when it ends; ask with {ask_with}."


def wake(view: View, caller: Caller, ask_with: str) -> str:
    """Return how the caller learns of this task's end; all but `session` say what to ask with."""
    # A task that is resumed still notifies its owner, who may not be this caller.
    is_session = is_notified(caller) and view.owner == caller.session
    way = "session" if is_session else caller.wake if caller.wake.startswith("channel ") else "none"
    if view.notify == "never" or way == "none":
        return f"none; ask with {ask_with}"
    if view.notify != "always":
        return f"{way} {CONDITIONS[view.notify]}; ask with {ask_with}"
    return way if way == "session" else f"{way}; ask with {ask_with}"


def wake_line(view: View, caller: Caller, ask_with: str) -> str:
    """Return the same as a line of a reply."""
    said = f"wake: {wake(view, caller, ask_with)}"
    if said != "wake: session":
        return f"{said}."
    end = "it ends" if view.standing is None else "a run of it ends"
    return f"{said}. You will be told when {end}; do not poll."


def approval(view: View) -> str:
    """Return which approval a task waits for, and that its caller cannot approve; empty if none."""
    agent = view.agent
    is_waiting = view.latest.state == "running" and agent is not None and agent.waiting == "approval"
    if view.state != "proposed" and not is_waiting:
        return ""
    reasons = () if view.question is None else view.question.reasons
    why = "; ".join(one_line(each.text, 1000) for each in reasons)
    what = "Its agent waits for a person's approval" if is_waiting else "It waits for a person's approval"
    return (
        f"{what}{f': {why}' if why else ''}.\n"
        f"A person can say `errands approve {view.id}` or `errands reject {view.id}`; you cannot approve it."
    )
