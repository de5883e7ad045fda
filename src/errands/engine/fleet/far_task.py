"""A far task: a task of another home, as this home sees it through the fleet.

Its own home decides about it. The fleet knows its runs, their output and how they ended; only its home knows
whether the task continues after that, so it is asked where that matters.
"""

from __future__ import annotations

from errands.model.ending import Cancelled, Ending, Exited, Interrupted, Killed, LimitExceeded, Lost
from errands.model.errors import Ambiguous, IllegalMove, unknown_task
from errands.model.record import record
from errands.model.text.ids import is_id
from errands.model.view import NO_RESULT, NOT_APPROVED, STILL_LIVE, STOPPED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from errands.model.states import RunState
    from errands.ports.fleet import Fleet, FoundRun, Wish

FOLLOWED = 60.0  # seconds for which output is asked for at a time
_NUMBERS = ("code", "signal")
_TEXTS = ("error", "stop", "lost")


async def find(fleet: Fleet, given: str) -> FoundRun:
    """Return the newest run of the task with this id or beginning of it, or the one run that is named."""
    task, dot, _ = given.partition(".")
    if not is_id(task):
        raise unknown_task(given)
    runs = await fleet.find(task)
    exact = [run for run in runs if run.task == task]
    tasks = list(dict.fromkeys((run.home, run.task) for run in exact or runs))
    if len(tasks) > 1:
        named = ", ".join(f"{run.task} of {run.home_name}" for run in exact or runs)
        raise Ambiguous(f"{task!r} matches several tasks of the fleet: {named}; type more of the id")
    for run in exact or runs:
        if not dot or run_id(run) == f"{run.task}{given[len(task) :]}":
            return run
    raise unknown_task(given)


def run_id(run: FoundRun) -> str:
    """Return the id of a run in its home."""
    return run.key.rpartition(":")[0]


def ending(outcome: Mapping[str, Any]) -> Ending:
    """Return how a run ended, as far as that decides its state."""
    found: dict[str, Any] = {name: str(outcome[name]) for name in _TEXTS if name in outcome}
    numbers = {name: str(outcome[name]) for name in _NUMBERS if name in outcome}
    found |= {name: int(text) for name, text in numbers.items() if text.isdecimal()}
    return Ending(**found)


def state_of(outcome: Mapping[str, Any] | None, *, is_taken: bool) -> str:
    """Return the state of a placed run, in the word for a task."""
    if outcome is None:
        return "running" if is_taken else "pending"
    if "ask" in outcome:
        return "proposed"
    return _run_state(ending(outcome))


def word(run: FoundRun) -> str:
    """Return the state of the task of a run."""
    return state_of(run.outcome, is_taken=run.state == "taken")


def is_paused(run: FoundRun) -> bool:
    """Return whether the processes of a run are suspended, as its host says."""
    return run.outcome is None and bool(run.view.get("paused"))


def error_of(run: FoundRun) -> str:
    """Return why a run failed; the empty text if it did not."""
    if run.outcome is None or "ask" in run.outcome:
        return ""
    return error_of_outcome(run.outcome)


def error_of_outcome(outcome: Mapping[str, Any]) -> str:
    from errands.model.rollup import SIGNALS

    match ending(outcome).how:
        case Exited(code=code):
            return f"exit code {code}" if code else ""
        case Killed(signal=signal):
            return f"killed by {SIGNALS.get(signal, f'signal {signal}')}"
        case LimitExceeded(limit=limit):
            return f"ended at its limit ({limit})"
        case Lost(reason=reason):
            return reason
        case Cancelled():
            return ""
        case other:
            return getattr(other, "error", "the machine restarted while this ran")


def exit_code(run: FoundRun) -> int:
    """Return the exit code of `errands wait` for a task of another home, as it would be at home."""
    if run.outcome is None:
        return STILL_LIVE
    if "ask" in run.outcome:
        return NOT_APPROVED
    found = ending(run.outcome)
    match found.how:
        case Exited(code=code):
            return code
        case Lost() | Interrupted():
            return NO_RESULT
        case how:
            otherwise = STOPPED if isinstance(how, Cancelled) else 1
            return otherwise if found.signal is None else 128 + found.signal


def is_over(run: FoundRun) -> bool:
    """Return whether a task is over by the end of its newest run; one that needs approval counts as that."""
    if run.outcome is None:
        return False
    if "ask" in run.outcome:
        return True
    if run.acked:
        return not run.goes_on
    may_go_on = run.body.get("goes_on", "never")
    return may_go_on == "never" or (may_go_on == "failed" and word(run) != "failed")


@record
class Asked:
    """What a person has to decide about a task: `token` names the question, `texts` say why it is asked.

    `kinds` are those of the reasons.
    """

    token: str
    texts: tuple[str, ...]
    kinds: tuple[str, ...]


def asked(run: FoundRun) -> Asked | None:
    """Return the question about a task, or the first one about calls of its agent."""
    if run.outcome is not None:
        if "ask" not in run.outcome:
            return None
        import json

        reasons = json.loads(str(run.outcome["ask"]))
        return _asked(str(run.outcome.get("digest", "")), reasons)
    for question in run.view.get("questions", ()):
        return _asked(question_mark(run.number, run.attempt, question["id"]), question["reasons"])
    return None


def _asked(token: str, reasons: Sequence[Mapping[str, Any]]) -> Asked:
    texts, kinds = ([str(each.get(name, "")) for each in reasons] for name in ("text", "kind"))
    return Asked(token=token, texts=tuple(texts), kinds=tuple(kinds))


def question_mark(number: int, attempt: int, question: int | str) -> str:
    """Name a question of a host, in place of the digest that it is bound to there."""
    return f"{number}:{attempt}:{question}"


async def output(fleet: Fleet, run: FoundRun, start: int = 0) -> list[tuple[int, bytes]]:
    """Return what a run printed after `start`, as far as the fleet has it, without overlaps."""
    found, position = [], start
    for piece in await fleet.output(run.number, attempt=run.attempt, start=start):
        content = piece.content[max(position - piece.start, 0) :]
        if content:
            found.append((max(piece.start, position), content))
            position = found[-1][0] + len(content)
    return found


async def answer(
    fleet: Fleet, run: FoundRun, wish: Wish, *, author: str, body: Mapping[str, Any]
) -> tuple[Asked, int]:
    """Ask the home of a task to count this as an answer; return the question and the request's number."""
    question = asked(run)
    if question is None:
        raise IllegalMove(f"{run.task} is {word(run)}; it has no open question")
    number = await fleet.request(run.home, run.task, wish, author=author, body=body, token=question.token)
    return question, number


async def cancel(fleet: Fleet, run: FoundRun, *, author: str) -> int:
    """Ask the home of a task to cancel it; return the number of the request."""
    if is_over(run) and word(run) != "proposed":
        raise IllegalMove(f"{run.task} is {word(run)}; there is nothing to stop")
    return await fleet.request(run.home, run.task, "cancel", author=author, body={})


async def end(fleet: Fleet, run: FoundRun) -> None:
    """End a run although its home is out of touch, which records that it was cancelled when it is back."""
    if run.outcome is None:
        await fleet.cancel(run.home, run.key, grace=_grace(run))


def _grace(run: FoundRun) -> float:
    from errands.model.limits import LIMITS

    return LIMITS.decode(run.body["limits"]).grace.total_seconds()


def _run_state(found: Ending) -> RunState:
    match found.how:
        case Exited(code=0):
            return "completed"
        case Cancelled():
            return "cancelled"
        case _:
            return "failed"


def commands(body: Mapping[str, Any]) -> str:
    """Return the commands of a run, as they would be typed, or what an agent is asked."""
    if "prompt" in body:
        return str(body["prompt"])
    from errands.model.action import written

    lines: Sequence[list[str] | str] = body.get("commands", ())
    return "\n".join(written(each if isinstance(each, str) else tuple(each)) for each in lines)
