"""What can be wrong with a source of events."""

from __future__ import annotations

from errands.model.errors import ErrandsError

# ruff: noqa: N818  # as in errors.py


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
