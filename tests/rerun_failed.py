"""Run the tests that failed in the last run once more, one at a time: `make again`.

The tests drive real programs, and a busy machine delays one now and then. A failure that repeats alone is a
defect; more than a few failures at once are one as well, and are not tried again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

MOST = 5
_FAILED = Path(__file__).parents[1] / ".pytest_cache" / "v" / "cache" / "lastfailed"


def main() -> int:
    failed = sorted(json.loads(_FAILED.read_text())) if _FAILED.exists() else []
    if not failed:
        print("*** no test is known to have failed: the run itself went wrong", file=sys.stderr)
        return 1
    print(f"*** failed beside others: {', '.join(failed)}", file=sys.stderr)
    if len(failed) > MOST:
        print(f"*** more than {MOST} tests failed, which is no accident", file=sys.stderr)
        return 1
    mode = sys.argv[1:]  # the options that they need
    return int(pytest.main([*mode, "-p", "no:xdist", "--last-failed", "--last-failed-no-failures=none"]))


if __name__ == "__main__":
    sys.exit(main())
