"""The limits of a draft: its own, or those of the configuration."""

from __future__ import annotations

from errands.model.limits import UNLIMITED, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import timedelta

    from errands.config.sections import Runs
    from errands.model.options.draft import Draft


def limits_of(draft: Draft, runs: Runs, *, timeout: timedelta | None) -> Limits:
    """Return the limits of a draft; `timeout` is the default for its kind."""
    return Limits(
        timeout=_span(draft.timeout, timeout),
        idle=_span(draft.idle, runs.idle),
        on_idle=draft.on_idle or runs.on_idle,
        memory=_amount(draft.memory, runs.memory),
        cpu=_span(draft.cpu, runs.cpu),
        processes=_amount(draft.processes, runs.processes),
        output=draft.output or runs.output_cap,
        grace=runs.grace if draft.grace is None else draft.grace,
        nice=draft.nice,
        retries=draft.retries,
    )


def _span(asked: timedelta | None, default: timedelta | None) -> timedelta | None:
    return default if asked is None else None if asked == UNLIMITED else asked


def _amount(asked: int | None, default: int | None) -> int | None:
    return default if asked is None else asked or None
