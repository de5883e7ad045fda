"""The daemon as the harness starts it: with a clock that can be stepped, armed points, or one broken part.

It is the real daemon in its own process; without a mutant its code is the engine's, unchanged, except that
every task counts as harmless, so that tasks that print nothing hand on their records.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta

from errands import bootstrap
from errands.runners.pool import pool
from tests.chaos import kill_points, mutants, zygote
from tests.chaos.patch import patch

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
    kill_points.arm(kill_points.DAEMON_POINTS)
    patch(bootstrap, "SystemClock", SteppedClock)
    patch(pool, "_ZYGOTE", zygote.__file__)
    if mutants.is_in_shims():
        patch(pool, "_PASSED_ON", (*pool._PASSED_ON, mutants.VARIABLE))
    return bootstrap.run_daemon()


if __name__ == "__main__":
    sys.exit(main())
