"""Waking: how the end of a task reaches whoever launched it, said honestly.

Only who is really woken is told not to ask; everybody else is told what to ask with.
"""

from __future__ import annotations

from errands.dialects.output_text import phrase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.view import View
    from errands.ports.dialect import Caller

_WHEN = {"on_failure": "if it fails", "on_change": "if its result changes"}


def is_woken(caller: Caller) -> bool:
    return caller.wake == "session" and caller.session is not None


def advice(caller: Caller, ask_with: str) -> str:
    """Say in a tool's description what to do until a task ends."""
    if is_woken(caller):
        return "You will be told when it ends; do not poll."
    if caller.wake.startswith("channel "):
        return f"Its end is told through {caller.wake[8:]}, not to you; ask with {ask_with}."
    return f"Nothing tells you when it ends; ask with {ask_with}."


def wake(view: View, caller: Caller, ask_with: str) -> str:
    """Say in a few words how the end of this task will be told; all but `session` say what to ask with."""
    # What was launched by somebody who is not woken, and is taken up again, is told to its owner as before.
    is_session = is_woken(caller) and view.owner == caller.session
    way = "session" if is_session else caller.wake if caller.wake.startswith("channel ") else "none"
    if view.notify == "never" or way == "none":
        return f"none; ask with {ask_with}"
    if view.notify != "always":
        return f"{way} {_WHEN[view.notify]}; ask with {ask_with}"
    return way if way == "session" else f"{way}; ask with {ask_with}"


def told(view: View, caller: Caller, ask_with: str) -> str:
    """Say the same in a line of a reply."""
    said = f"wake: {wake(view, caller, ask_with)}"
    if said != "wake: session":
        return f"{said}."
    end = "it ends" if view.standing is None else "a run of it ends"
    return f"{said}. You will be told when {end}; do not poll."


def approval(view: View) -> str:
    """Say what a person has to answer before a task goes on, and that its caller cannot; mostly nothing."""
    agent = view.agent
    is_held = view.latest.state == "running" and agent is not None and agent.waiting == "approval"
    if view.state != "proposed" and not is_held:
        return ""
    reasons = () if view.question is None else view.question.reasons
    why = "; ".join(phrase(each.text, 1000) for each in reasons)
    what = "Its agent waits for a person's approval" if is_held else "It waits for a person's approval"
    return (
        f"{what}{f': {why}' if why else ''}.\n"
        f"A person can say `errands approve {view.id}` or `errands reject {view.id}`; you cannot approve it."
    )
