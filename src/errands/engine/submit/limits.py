"""The limits of a draft: its own, or those of the configuration."""

from __future__ import annotations

from errands.model.limits import UNLIMITED, Limits
from errands.model.options.table import BY_NAME
from errands.model.record import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Any

    from errands.config.sections import Runs
    from errands.model.options.draft import Draft

# The name of each limit, that of its setting in `runs`, and whether it can be switched off.
_LIMITS = tuple(
    (option.name, option.setting.partition(".")[2], option.unlimited)
    for option in (BY_NAME[name] for name in fields(Limits))
)


def limits_of(draft: Draft, runs: Runs, *, timeout: timedelta | None) -> Limits:
    """Return the limits of a draft; `timeout` is the default for its kind."""
    values: dict[str, Any] = {}
    for name, setting, unlimited in _LIMITS:
        value = getattr(draft, name)
        if value is None:
            value = timeout if setting == "timeout" else getattr(runs, setting) if setting else None
        elif unlimited and value in (0, UNLIMITED):
            value = None
        values[name] = value
    return Limits(**values)
