"""Memory: what an agent wants to know again in later runs, by project and name."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

_SCHEMA = """
CREATE TABLE IF NOT EXISTS memory (
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    set_at REAL NOT NULL,
    PRIMARY KEY (project, name)
) WITHOUT ROWID
"""


class Memory:
    def __init__(self, home: str, project: str) -> None:
        self._path = os.path.join(home, "memory.db")
        self._project = os.path.realpath(project)

    def set(self, name: str, value: str) -> None:
        with self._opened() as connection, connection:
            connection.execute(
                "INSERT INTO memory VALUES (?, ?, ?, ?) ON CONFLICT (project, name) "
                "DO UPDATE SET value = excluded.value, set_at = excluded.set_at",
                (self._project, name, value, time.time()),
            )

    def get(self, name: str) -> str | None:
        with self._opened() as connection:
            found = connection.execute(
                "SELECT value FROM memory WHERE project = ? AND name = ?", (self._project, name)
            ).fetchone()
        return None if found is None else str(found[0])

    def names(self) -> list[str]:
        """Give the names that are known, the newest first."""
        with self._opened() as connection:
            found = connection.execute(
                "SELECT name FROM memory WHERE project = ? ORDER BY set_at DESC LIMIT 100", (self._project,)
            ).fetchall()
        return [str(name) for (name,) in found]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open it for one question: other runs may be asking, too."""
        with closing(sqlite3.connect(self._path, timeout=10)) as connection:
            connection.execute(_SCHEMA)
            yield connection
