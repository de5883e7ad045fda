"""The command `errands` with shorter time limits, so that tests need not wait for the real ones.

Where a limit is used, nothing differs but its length.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

_PROGRAM = """
import importlib, sys
while (limit := sys.argv.pop(1)) != "--":
    place, _, seconds = limit.partition("=")
    module, _, name = place.rpartition(".")
    module = importlib.import_module(module)
    assert isinstance(getattr(module, name), float), place
    setattr(module, name, float(seconds))
from errands.__main__ import main
main()
"""


def command(limits: Mapping[str, float]) -> list[str]:
    """Return the words that start `errands` with these limits: seconds by the full names of constants."""
    if not limits:
        return [sys.executable, "-m", "errands"]
    words = [f"{place}={seconds}" for place, seconds in limits.items()]
    return [sys.executable, "-c", _PROGRAM, *words, "--"]
