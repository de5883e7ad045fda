"""The command `errands` at one moment: time stands still and ids repeat, so that outputs can be compared.

Everything else is the real program.
"""

from __future__ import annotations

import hashlib
import os
import sys
from datetime import datetime

from errands import bootstrap
from errands.text import describe


def freeze(at: str, seed: str) -> None:
    """Let this process see one moment, and make its ids of `seed`."""
    moment = datetime.fromisoformat(at)

    def frozen_now(*_: object) -> datetime:
        return moment

    def same_bytes(count: int) -> bytes:
        return hashlib.shake_256(seed.encode()).digest(count)

    os.urandom = same_bytes
    original = describe.now
    for module in list(sys.modules.values()):
        if getattr(module, "now", None) is original:  # imported by name
            module.now = frozen_now  # type: ignore[attr-defined]
    bootstrap.SystemClock.now = frozen_now  # type: ignore[method-assign, assignment]
