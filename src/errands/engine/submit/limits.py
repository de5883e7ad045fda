"""Limiting: which limits a draft gets, its own or those of the configuration."""

from __future__ import annotations

from errands.model.limits import Limits
from errands.model.options.draft import UNLIMITED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import timedelta

    from errands.config import Config
    from errands.model.options.draft import Draft


class LimitDefaults:
    """Remembers what was asked for last: most drafts ask for nothing, and the usual limits can be shared."""

    def __init__(self, config: Config) -> None:
        self._runs = config.runs
        self._asked: tuple[object, ...] = ()
        self._limits = Limits()

    def of(self, draft: Draft, timeout: timedelta | None) -> Limits:
        """Give the limits of a draft; `timeout` is the usual one of its kind."""
        asked = (
            draft.timeout, draft.idle, draft.on_idle, draft.memory, draft.cpu, draft.processes,
            draft.output, draft.grace, draft.retries, timeout,
        )  # fmt: skip
        if asked != self._asked:
            runs = self._runs
            self._limits = Limits(
                timeout=_span(draft.timeout, timeout),
                idle=_span(draft.idle, runs.idle),
                on_idle=draft.on_idle or runs.on_idle,
                memory=_amount(draft.memory, runs.memory),
                cpu=_span(draft.cpu, runs.cpu),
                processes=_amount(draft.processes, runs.processes),
                output=draft.output or runs.output_cap,
                grace=runs.grace if draft.grace is None else draft.grace,
                retries=draft.retries,
            )
            self._asked = asked
        return self._limits


def _span(asked: timedelta | None, default: timedelta | None) -> timedelta | None:
    return default if asked is None else None if asked == UNLIMITED else asked


def _amount(asked: int | None, default: int | None) -> int | None:
    return default if asked is None else asked or None
