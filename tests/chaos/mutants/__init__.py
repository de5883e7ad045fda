"""Mutants: engines that are broken on purpose, to see that the harness catches each of them.

One module per mutant. `break_engine` changes the daemon and its clients, `break_shims` the shims; the
environment names the one that is in force.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType

VARIABLE = "CHAOS_MUTANT"


def break_engine() -> None:
    """Break what runs in this process, if a mutant is in force."""
    if hasattr(mutant := _mutant(), "break_engine"):
        mutant.break_engine()


def break_shims() -> None:
    """Break the shims that this process will fork, if a mutant is in force."""
    if hasattr(mutant := _mutant(), "break_shims"):
        mutant.break_shims()


def _mutant() -> ModuleType | None:
    name = os.environ.get(VARIABLE)
    return importlib.import_module(f"tests.chaos.mutants.{name}") if name else None
