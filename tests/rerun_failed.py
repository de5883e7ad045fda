"""Run the tests of a target that failed in its last run once more, one at a time: `make again`.

The tests drive real programs, and a busy machine delays one now and then. A failure that repeats alone is a
defect; more than a few failures at once are one as well, and are not tried again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

MOST = 5
_CACHES = Path(__file__).parents[1] / ".pytest_cache"
_FAILED = "v/cache/lastfailed"
_OPTIONS = {"test-placed": ["--placed"]}  # of a target, which its tests need


def main(target: str = "") -> int:
    """Run those of a target, or of the one that failed last."""
    lists = sorted(_CACHES.glob(f"{target or '*'}/{_FAILED}"), key=lambda each: each.stat().st_mtime)
    failed = sorted(json.loads(lists[-1].read_text())) if lists else []
    if not failed:
        print("*** no test is known to have failed: the run itself went wrong", file=sys.stderr)
        return 1
    print(f"*** failed beside others: {', '.join(failed)}", file=sys.stderr)
    if len(failed) > MOST:
        print(f"*** more than {MOST} tests failed, which is no accident", file=sys.stderr)
        return 1
    cache = lists[-1].parents[2]
    words = ["-o", f"cache_dir={cache}", *_OPTIONS.get(cache.name, [])]
    return int(pytest.main([*words, "--last-failed", "--last-failed-no-failures=none"]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
