"""Errors: what callers can be told is wrong, each with what to do next.

A failing command is never one of these; it is an Ending. `exit_code` is what the command line returns.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
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
