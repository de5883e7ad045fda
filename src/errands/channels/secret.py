"""Secrets of channels: named in the configuration, kept in a file or a variable, never in the store."""

from __future__ import annotations

from errands.config import secret
from errands.model.errors import BadValue
from errands.model.notices.errors import ChannelError


def read_secret(place: str) -> str:
    """Read `file:PATH` or `env:NAME`."""
    try:
        return secret.read_secret(place)
    except BadValue as error:
        raise ChannelError(str(error)) from error
