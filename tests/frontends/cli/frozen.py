"""The command `errands` at one moment: time stands still and ids repeat, so that outputs can be compared.

Everything else is the real program. FROZEN_AT is the moment, FROZEN_SEED what ids are made of.
"""

from __future__ import annotations

import hashlib
import os
from datetime import datetime

AT = datetime.fromisoformat(os.environ["FROZEN_AT"])
SEED = os.environ["FROZEN_SEED"].encode()


def frozen_now(*_: object) -> datetime:
    return AT


def same_bytes(count: int) -> bytes:
    return hashlib.shake_256(SEED).digest(count)


def main() -> None:
    os.urandom = same_bytes
    # Before anything has imported it by name.
    from errands.text import describe

    describe.now = frozen_now
    from errands import __main__, bootstrap

    bootstrap.SystemClock.now = frozen_now  # type: ignore[method-assign, assignment]

    __main__.main()


if __name__ == "__main__":
    main()
