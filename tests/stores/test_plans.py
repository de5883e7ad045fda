"""Query plans: no frequent statement of the loops and the frontends scans a large table."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from errands.model.options.draft import Draft
from errands.ports.store import Query
from errands.stores.sqlite.connection import Connection
from errands.testing.engines import embedded

LARGE = ("tasks", "runs", "outbox", "events", "approvals", "slots", "signals", "messages")
# The janitor, which runs every ten minutes, may scan everything.
RARE = ("DELETE FROM environments", "DELETE FROM slots", "DELETE FROM signals")


@pytest.mark.spec("O16")
async def test_no_frequent_statement_scans_a_large_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: dict[str, str] = {}
    opened: list[sqlite3.Connection] = []
    connect = Connection.__init__

    def traced(self: Connection, *args: Any, **options: Any) -> None:
        connect(self, *args, **options)
        opened.append(self._db)
        self._db.set_trace_callback(lambda sql: statements.setdefault(" ".join(sql.split()), sql))

    monkeypatch.setattr(Connection, "__init__", traced)
    async with embedded(str(tmp_path / "home")) as engine:
        await engine.finished("echo hello")
        await engine.finished("exit 3")
        await engine.submit(Draft(command="true", every=timedelta(seconds=1)))
        await engine.submit(Draft(command="true", on=f"file:{tmp_path}"))
        gate = await engine.started("echo ready; read line", input="pipe")
        await engine.submit(Draft(command="true", after=(gate.id,)))
        await engine.cancel(gate.id)
        await engine.list(states=("running", "pending"), limit=20)
        engine.engine.list(Query(ids=(gate.id,)))
        await engine.take_notices()
        await asyncio.sleep(1.5)

        scans = [
            (row[3], sql)
            for sql in statements
            if sql.startswith(("SELECT", "UPDATE", "DELETE", "WITH", "INSERT"))
            if not sql.startswith(RARE)
            for row in opened[-1].execute(f"EXPLAIN QUERY PLAN {sql}")
            if row[3].startswith("SCAN") and row[3].split()[1] in LARGE and "INDEX" not in row[3]
        ]
    assert len(statements) > 30, "the statements were not seen"
    assert scans == []
