"""The daemon as the harness starts it: its clock can be stepped, its points armed, one part of it broken.

It is the real daemon in a process of its own; without a mutant its code is the engine's, unchanged, but that
every task counts as harmless: so those that print nothing hand their records on.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta

from errands import bootstrap
from errands.runners.pool import pool
from tests.chaos import mutants, points, zygote
from tests.chaos.surgery import exchange

CLOCK = "CHAOS_CLOCK"  # the file with the seconds by which the clock was stepped


class SteppedClock(bootstrap.SystemClock):
    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=_step())


def _step() -> float:
    try:
        with open(os.environ[CLOCK]) as file:
            return float(file.read() or 0)
    except OSError:
        return 0.0


def main() -> int:
    mutants.break_engine()
    points.arm(points.DAEMON_POINTS)
    exchange(bootstrap, "SystemClock", SteppedClock)
    exchange(pool, "_ZYGOTE", zygote.__file__)
    if mutants.is_in_shims():
        exchange(pool, "_PASSED_ON", (*pool._PASSED_ON, mutants.VARIABLE))
    return bootstrap.run_daemon()


if __name__ == "__main__":
    sys.exit(main())
