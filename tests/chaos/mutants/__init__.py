"""Mutants: engines that are broken on purpose, to prove that the harness catches each of them.

One module per mutant. `break_engine` changes the daemon and its clients, `break_shims` the shims; the
environment names the active one.
"""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from tests.chaos.patch import patch

VARIABLE = "CHAOS_MUTANT"


def break_engine() -> None:
    """Break the engine of this process, if a mutant is active."""
    if mutant := _mutant():
        getattr(mutant, "break_engine", _do_nothing)()


def break_shims() -> None:
    """Break the shims that this process will fork, if a mutant is active."""
    if mutant := _mutant():
        mutant.break_shims()


def check(name: str) -> None:
    """Check in a fork that a mutant still fits the engine; a failure in a daemon would go unnoticed."""
    os.environ[VARIABLE] = name
    pid = os.fork()
    if not pid:
        try:
            break_engine()
            if is_in_shims():
                break_shims()
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit(f"the mutant {name} has to follow the engine")


def is_in_shims() -> bool:
    """Return whether the active mutant breaks shims, which can load no other mutant."""
    return hasattr(_mutant(), "break_shims")


def rewrite(old: str, new: str) -> None:
    """Replace one part of an SQL query whenever this process runs it."""
    from errands.stores.sqlite.connection import Connection

    read = Connection.read

    def misread(connection: Connection, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return read(connection, sql.replace(old, new), values)

    patch(Connection, "read", misread)


def _mutant() -> ModuleType | None:
    name = os.environ.get(VARIABLE)
    return importlib.import_module(f"tests.chaos.mutants.{name}") if name else None


def _do_nothing() -> None:
    """Do nothing: this mutant breaks other processes."""
