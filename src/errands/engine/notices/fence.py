"""Fencing: words from outside, handed to an agent as data between two lines that they cannot contain."""

from __future__ import annotations

import os

from errands.model.text.sanitise import fence


def fenced(text: str | bytes, label: str) -> str:
    """Put a fence around a text, whose boundary nobody could know before."""
    return fence(text, boundary=os.urandom(8).hex(), label=label)
