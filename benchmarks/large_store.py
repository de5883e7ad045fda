"""A large store: one with a great many tasks, made by copying a few real ones.

The originals were run by a real daemon and are copied column by column, whatever columns there are, so the
store looks like what would be there after years.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import errands
from benchmarks.bench_home import BenchHome
from errands.model.text.ids import ALPHABET

HELD = "held"
WAITING = 100  # tasks that are queued, and as many that are due later, whatever the size of the store
_SUFFIXES = len(ALPHABET) ** 6
_SCATTER = 7_654_321  # coprime to the number of suffixes, so that every number gets a different one


def fill(bench: BenchHome, count: int) -> None:
    """Fill the store of a home; most tasks have ended, the waiting ones are spread evenly among them."""
    bench.set(lanes_held="0")
    bench.start()
    completed, failed, pending, delayed = asyncio.run(_originals(bench.home.path))
    bench.stop()
    with closing(sqlite3.connect(bench.home.store, isolation_level=None)) as db:
        db.create_function("suffix", 1, suffix, deterministic=True)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA cache_size = -200000")
        (first,) = db.execute("SELECT max(max(tasks.seq), max(runs.seq)) FROM tasks, runs").fetchone()
        db.execute(
            "CREATE TEMP TABLE copies (copy INTEGER PRIMARY KEY, original INTEGER, original_run INTEGER)"
        )
        db.execute(
            """
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
            INSERT INTO copies
            SELECT :first + n, tasks.seq, tasks.run
            FROM numbers JOIN tasks ON tasks.id = CASE
                WHEN n % :step = 0 THEN :pending
                WHEN n % :step = 1 THEN :delayed
                WHEN n % 10 = 5 THEN :failed
                ELSE :completed END
            """,
            {
                "count": count,
                "first": first,
                "step": max(3, count // WAITING),
                "completed": completed,
                "failed": failed,
                "pending": pending,
                "delayed": delayed,
            },
        )
        with db:
            db.execute("BEGIN")
            _copy(
                db,
                "tasks",
                {"seq": "copy", "id": "name || '-' || suffix(copy)", "run": "copy"},
                "seq = original",
            )
            _copy(db, "runs", {"seq": "copy", "task": "copy"}, "seq = original_run")
            _copy(db, "events", {"seq": "NULL", "task": "copy"}, "task = original")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def suffix(number: int) -> str:
    """Return the random-looking end of an id, a different one for every number."""
    rest, letters = number * _SCATTER % _SUFFIXES, ""
    for _ in range(6):
        rest, digit = divmod(rest, len(ALPHABET))
        letters += ALPHABET[digit]
    return letters


async def _originals(home: str) -> tuple[str, str, str, str]:
    later = datetime.now(UTC) + timedelta(days=1)
    async with errands.connect(home, embedded=False, yes=True) as engine:
        completed = await engine.submit(("sh", "-c", "echo 12 passed in 0.31s"), description="run the tests")
        failed = await engine.submit(("sh", "-c", "echo 2 failed; exit 1"), description="run the tests")
        pending = await engine.submit(("make", "release"), lane=HELD)
        delayed = await engine.submit(("make", "clean"), at=later)
        await engine.wait_all([completed.id, failed.id])
        return completed.id, failed.id, pending.id, delayed.id


def _copy(db: sqlite3.Connection, table: str, changed: dict[str, str], original: str) -> None:
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(changed.get(column, f"{table}.{column}") for column in columns)
    rows = f"SELECT {values} FROM copies JOIN {table} ON {table}.{original} ORDER BY copy"
    db.execute(f"INSERT INTO {table} ({', '.join(columns)}) {rows}")
