"""Errors: what callers can be told is wrong, each with what to do next.

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
    """A value that cannot be used, with the reason."""

    exit_code = 2


class Cycle(BadValue):
    """Tasks that wait for each other in a circle."""


class NotFound(ErrandsError):
    """No task, run or template of that name."""

    exit_code = 3


class Ambiguous(NotFound):
    """A prefix that fits more than one id; `ids` are those it fits, newest first."""

    def __init__(self, said: str, *, prefix: str = "", ids: Sequence[str] = ()) -> None:
        super().__init__(said)
        self.prefix = prefix
        self.ids = tuple(ids)


class IllegalMove(ErrandsError):
    """A state change that the tables do not allow; nothing was written."""


class Denied(ErrandsError):
    """A rule of the configuration forbids it, whoever asks; nothing was changed."""

    exit_code = 4


class AlreadyResolved(ErrandsError):
    """The question has its answer already, or is no longer the one that was seen."""

    exit_code = 4


class Drifted(ErrandsError):
    """What was asked about has changed since, so it is asked about anew."""

    exit_code = 4


class NotAPerson(ErrandsError):
    """Only a person can consent; what runs in the background, or speaks for an agent, is none."""

    exit_code = 2


class AlreadyActive(ErrandsError):
    """The task has a live run already."""


class StillLive(ErrandsError):
    """The task has a live run, so it cannot be removed."""


class NoInput(ErrandsError):
    """The run takes no input, or is over."""


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


# Agents and their sessions, some in the exact words that callers know

SESSION_GONE = "Session expired or was deleted. Start a new background_task to continue."


class AgentError(ErrandsError):
    """An agent could not answer. `partial` is what it had said until then."""

    failure = "agent"

    def __init__(self, message: str, *, partial: str = "") -> None:
        super().__init__(message)
        self.partial = partial


class AgentUnavailable(AgentError):
    """The model or the agent's server cannot be reached, or talks nonsense; it was tried several times."""


class BudgetExceeded(AgentError):
    """The run used all it was allowed to."""

    failure = "budget"

    @classmethod
    def of(cls, name: str, limit: int, used: int, *, partial: str = "") -> BudgetExceeded:
        """Say which budget is used up, and what of it was used in truth: some is only told afterwards."""
        what = "microdollars" if name == "cost_microdollars" else name.replace("_", " ")
        return cls(f"the budget of {limit} {what} is used up ({used})", partial=partial)

    @classmethod
    def among(
        cls, budget: Mapping[str, int], used: Mapping[str, int], *, partial: str = ""
    ) -> BudgetExceeded | None:
        """Find the first limit of a budget that more was used than."""
        total = used.get("input_tokens", 0) + used.get("output_tokens", 0)
        for name, limit in budget.items():
            amount = total if name == "total_tokens" else used.get(name, 0)
            if amount > limit:
                return cls.of(name, limit, amount, partial=partial)
        return None


class SessionGone(AgentError):
    """The session is no more."""

    exit_code = 3

    def __init__(self, message: str = SESSION_GONE) -> None:
        super().__init__(message)


class NotResumable(ErrandsError):
    """The task is not in a state in which it takes another prompt."""


class UnknownAgent(BadValue):
    """No backend of that name, or one that is not installed."""


# Channels: what happens to the delivery


class ChannelError(ErrandsError):
    """The letter was not taken, this time; it is tried again later."""


class NotNow(ChannelError):
    """Nobody can be reached at the moment, which is no failure; `after` so many seconds it is tried again."""

    def __init__(self, message: str, *, after: float) -> None:
        super().__init__(message)
        self.after = after


class Unacknowledged(ChannelError):
    """The letter was sent, and nobody knows whether it arrived."""


class Refused(ChannelError):
    """The letter will never be taken as it is, or as its channel is configured; a person has to look."""


# Event sources


class SourceError(ErrandsError):
    """A source that cannot be looked at now; `after` is how many seconds to leave it alone, if it said so."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Changed(SourceError):
    """What a person approved is no longer what would run; `said` tells the differences."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(f"since it was approved, {'; '.join(said)}")
        self.said = said


class Overrun(SourceError):
    """More has happened than anybody can take; what comes now is turned away until that has run."""
