"""The log of the daemon and of the processes beside it: what a line looks like.

They write to standard error, which is `daemon.log` in the home when the daemon starts by itself.
"""

from __future__ import annotations

import logging


def begin(level: int = logging.INFO) -> None:
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
