"""What can go wrong with a channel, as far as it matters for what happens to the letter."""

# ruff: noqa: N818  # NotNow says what it is; NotNowError would say it twice

from __future__ import annotations

from errands.model.errors import ErrandsError


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
