"""Surgery: one part of the engine exchanged for another, in processes of the harness alone."""

from __future__ import annotations

from typing import Any


def exchange(owner: Any, name: str, new: Any) -> None:
    """Put something in the place of a function, a method or a value; there must be one of that name."""
    if not hasattr(owner, name):
        raise AttributeError(f"{owner} has no {name} any more: the harness has to follow")
    setattr(owner, name, new)
