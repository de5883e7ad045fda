"""Answers: how a person can answer a question, in the same words in every frontend.

A yes counts once, for the rest of a task, or always; which of them a question offers is decided in
`engine/approval/answers.py`.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from errands.model.approval import Approval, Scope

    AnswerName = Literal["once", "task", "always", "no"]


@record
class Answer:
    """`key` is the letter to type, `label` what a button says, `short` the same beside its letter.

    `scope` is how far a yes reaches; a no has none.
    """

    name: AnswerName
    key: str
    label: str
    short: str
    scope: Scope | None = None


ONCE = Answer(name="once", key="y", label="Approve once", short="once", scope="once")
TASK = Answer(name="task", key="t", label="Approve for this task", short="for this task", scope="task")
ALWAYS = Answer(name="always", key="a", label="Always approve", short="always", scope="always")
NO = Answer(name="no", key="n", label="Reject", short="no")
ANSWERS = (ONCE, TASK, ALWAYS, NO)
BY_NAME: dict[str, Answer] = {each.name: each for each in ANSWERS}


QUESTION = "Start it?"


def prompt(offered: Sequence[Answer], *, more: str = "") -> str:
    """Return the line that a person answers: `Start it? y once, a always, n no [y/a/N] `."""
    meanings = f" {said}" if (said := spoken(offered)) else ""
    return f"{QUESTION}{more}{meanings} [{keys(offered)}] "


def reach(scope: Scope) -> str:
    """Return how far a yes reaches, to follow `approved`; empty for once."""
    return "" if scope == "once" else f" {BY_NAME[scope].short}"


def approved(task_id: str, state: str, scope: Scope) -> str:
    """Say what a yes does to a task that was in this state: it may be about a call of its agent."""
    if state not in ("proposed", "failed"):
        return f"allowed{reach(scope)}; {task_id} continues"
    again = "; it runs again, without its sandbox" if state == "failed" else ""
    return f"approved {task_id}{reach(scope)}{again}"


def rejected(task_id: str, state: str) -> str:
    """Say what a no does to a task that was in this state."""
    effect = "it will not start" if state == "proposed" else "its agent continues without it"
    return f"rejected {task_id}; {effect}"


def keys(offered: Sequence[Answer]) -> str:
    """Return the letters of a question's answers, the default in upper case: `y/t/a/N`."""
    letters = [_key(each, offered) for each in offered]
    return "/".join([*letters[:-1], letters[-1].upper()])


def spoken(offered: Sequence[Answer]) -> str:
    """Return what each letter means: `y once, a always, n no`; empty for a plain yes or no."""
    if len(offered) < 3 and offered[0] is ONCE:
        return ""
    return ", ".join(f"{_key(each, offered)} {each.short}" for each in offered)


def answer_to(typed: str, offered: Sequence[Answer]) -> Answer | None:
    """Return the answer that a person typed; None if it is not one of those that were offered."""
    word = typed.strip().lower()
    word = {"yes": "y", "no": "n"}.get(word, word)
    return next((each for each in offered if word == _key(each, offered)), None)


def _key(answer: Answer, offered: Sequence[Answer]) -> str:
    """Return the letter of an answer: `y` is always the narrowest yes."""
    return "y" if answer is offered[0] else answer.key


def answer_word(approval: Approval) -> str:
    """Return the answer to a question in a word, and what it covers if that is more than the question."""
    said = _GIVEN.get(approval.state, approval.state)
    return said if approval.scope == "once" else f"{said}, {_COVERED[approval.scope]}"


_GIVEN = {"granted": "approved", "refused": "rejected"}
_COVERED = {"task": "for the task", "always": "always"}
