"""Errors: what can be wrong with a request; each message says what is wrong and what to do next.

A failing command is never one of these; it is an Ending. `exit_code` is what the command line returns.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import assert_never as assert_never
else:

    def assert_never(value):
        """Do what typing.assert_never does, without its import, which commands cannot afford."""
        raise AssertionError(f"unreachable: {value!r}")


# ruff: noqa: N818  # NotFound says what it is; NotFoundError would say it twice


class ErrandsError(Exception):
    """Something the caller asked for cannot be done."""

    exit_code = 1


class BadValue(ErrandsError):
    """A value cannot be used."""

    exit_code = 2


def installing(extra: str) -> str:
    """Return how to install Errands with an extra: from a clone, because no index has the package."""
    return f"pip install '.[{extra}]' in a clone of Errands"


def missing_extra(what: str, extra: str, error: ModuleNotFoundError) -> Exception:
    """Return the error for an extra that is not installed; one about our own module stays as it is."""
    package = (error.name or "").partition(".")[0]
    if package == "errands":
        return error
    return BadValue(f"{what} needs {package}, which is not installed; install it with: {installing(extra)}")


class Cycle(BadValue):
    """Tasks wait for each other in a circle."""


class NotFound(ErrandsError):
    """No task, run or template has that name."""

    exit_code = 3


class UnknownTask(NotFound):
    """No task of this home has that id; in a fleet, another home may have it."""


def unknown_task(task_id: str) -> UnknownTask:
    """Return the error about an id or prefix that no task has."""
    return UnknownTask(f"unknown task {task_id[:80]!r}; errands ls --all lists every task")


def never_ends(task_id: str) -> BadValue:
    """Return the error about waiting for a recurring task."""
    return BadValue(f"task {task_id} is a recurring task, so nothing can wait for its end")


class Ambiguous(NotFound):
    """A prefix matches more than one id; `ids` are the matches, newest first."""

    def __init__(self, said: str, *, prefix: str = "", ids: Sequence[str] = ()) -> None:
        super().__init__(said)
        self.prefix = prefix
        self.ids = tuple(ids)


def ambiguous(prefix: str, ids: Sequence[str]) -> Ambiguous:
    """Return the error about a prefix that several ids, newest first, begin with."""
    more = ", ..." if len(ids) > 5 else ""
    said = f"{prefix!r} matches several tasks: {', '.join(sorted(ids)[:5])}{more}; type more letters"
    return Ambiguous(said, prefix=prefix, ids=ids)


class IllegalMove(ErrandsError):
    """The tables do not allow this state change; nothing was written."""


class Denied(ErrandsError):
    """A rule of the configuration forbids it; nothing was changed."""

    exit_code = 4


class AlreadyResolved(ErrandsError):
    """The question is already answered, or is not the one that the caller saw."""

    exit_code = 4


class Drifted(ErrandsError):
    """What was to be approved has changed since, so it needs approval again."""

    exit_code = 4


class NotAPerson(ErrandsError):
    """Only a person can approve, not a background process or an agent."""

    exit_code = 2


class AlreadyActive(ErrandsError):
    """The task already has a live run."""


class StillLive(ErrandsError):
    """The task has a live run, so it cannot be removed."""


class NoInput(ErrandsError):
    """The run takes no input, or has ended."""


class NotListening(NoInput):
    """The run takes no input at all, or none yet because it has just started."""


class StoreError(ErrandsError):
    """The store cannot be used."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of Errands."""


class StoreUnreadable(StoreError):
    """The store's file is damaged; it was left where it is or set aside, never replaced silently."""


class StoreUnwritable(StoreError):
    """The store cannot be written: no permission, a read-only file system, a full disk."""


class HomeError(ErrandsError):
    """The home directory cannot be used."""


class DaemonError(ErrandsError):
    """The daemon cannot be started or reached."""


class FleetError(ErrandsError):
    """The fleet cannot be used."""


class FleetUnreachable(FleetError):
    """The fleet's database does not answer now; what was asked may or may not have been done."""


class FleetTooNew(FleetError):
    """The fleet's tables were written by a newer version of Errands."""


# Agents and their sessions, some in the exact words that callers know

SESSION_GONE = "Session expired or was deleted. Start a new background_task to continue."


class AgentError(ErrandsError):
    """An agent could not answer; `partial` is what it had said so far."""

    failure = "agent"

    def __init__(self, message: str, *, partial: str = "") -> None:
        super().__init__(message)
        self.partial = partial


def printed(error: object) -> str:
    """Return the line that an agent's process prints when it fails."""
    return f"errands: {error}\n"


class AgentUnavailable(AgentError):
    """After several tries the model or the agent's server cannot be reached, or answers nonsense."""


class BudgetExceeded(AgentError):
    """The run used up its budget."""

    failure = "budget"

    @classmethod
    def of(cls, name: str, limit: int, used: int, *, partial: str = "") -> BudgetExceeded:
        """Name the limit and the amount really used, which some backends only report afterwards."""
        what = "microdollars" if name == "cost_microdollars" else name.replace("_", " ")
        return cls(f"the budget of {limit} {what} is used up ({used})", partial=partial)

    @classmethod
    def among(
        cls, budget: Mapping[str, int], used: Mapping[str, int], *, partial: str = ""
    ) -> BudgetExceeded | None:
        """Return an error for the first limit that is exceeded, or None."""
        total = used.get("input_tokens", 0) + used.get("output_tokens", 0)
        for name, limit in budget.items():
            amount = total if name == "total_tokens" else used.get(name, 0)
            if amount > limit:
                return cls.of(name, limit, amount, partial=partial)
        return None


class SessionGone(AgentError):
    """The session no longer exists."""

    exit_code = 3

    def __init__(self, message: str = SESSION_GONE) -> None:
        super().__init__(message)


class NotResumable(ErrandsError):
    """The task's state does not allow another prompt."""


class UnknownAgent(BadValue):
    """The agent's backend does not exist or is not installed."""


# Channels: what happens to the delivery


class ChannelError(ErrandsError):
    """The delivery failed this time and is tried again later."""


class NotNow(ChannelError):
    """The receiver is busy, which is not a failure; the delivery is tried again `after` that many seconds."""

    def __init__(self, message: str, *, after: float) -> None:
        super().__init__(message)
        self.after = after


class Unacknowledged(ChannelError):
    """The delivery was sent, but it is unknown whether it arrived."""


class Refused(ChannelError):
    """The receiver will never accept the delivery, or the channel as configured; a person has to look."""


# Event sources


class SourceError(ErrandsError):
    """A source cannot be checked now; `after` is how many seconds it asked to wait, if it did."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Changed(SourceError):
    """What would run has changed since a person approved it; `said` lists the differences."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(f"since it was approved, {'; '.join(said)}")
        self.said = said


class Overrun(SourceError):
    """Too many signals are waiting; more are refused until those have run."""
