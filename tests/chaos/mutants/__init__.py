"""Mutants: engines that are broken on purpose, to see that the harness catches each of them.

One module per mutant. `break_engine` changes the daemon and its clients, `break_shims` the shims; the
environment names the one that is in force.
"""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from tests.chaos.surgery import exchange

VARIABLE = "CHAOS_MUTANT"


def break_engine() -> None:
    """Break what runs in this process, if a mutant is in force."""
    if mutant := _mutant():
        getattr(mutant, "break_engine", _do_nothing)()


def break_shims() -> None:
    """Break the shims that this process will fork, if a mutant is in force."""
    if mutant := _mutant():
        mutant.break_shims()


def check(name: str) -> None:
    """See, in a fork, that a mutant can still be made of this engine; in a daemon nobody would hear of it."""
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
    """Tell whether the mutant in force breaks shims; those must not load any other, nor could they."""
    return hasattr(_mutant(), "break_shims")


def rewrite(old: str, new: str) -> None:
    """Have one part of an SQL question replaced whenever it is asked in this process."""
    from errands.stores.sqlite.connection import Connection

    read = Connection.read

    def misread(connection: Connection, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return read(connection, sql.replace(old, new), values)

    exchange(Connection, "read", misread)


def _mutant() -> ModuleType | None:
    name = os.environ.get(VARIABLE)
    return importlib.import_module(f"tests.chaos.mutants.{name}") if name else None


def _do_nothing() -> None:
    """This mutant breaks other processes than this one."""
