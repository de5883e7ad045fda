"""Repair: copy what can still be read of a damaged store to a new one.

The damaged file is set aside, never deleted. Only a person starts this (`errands doctor --repair`), because
records that cannot be read disappear from view.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from typing import Any

from errands.model.errors import StoreUnreadable
from errands.model.record import record
from errands.stores.sqlite.connection import Connection

# Parents before children, so that foreign keys hold.
_TABLES = (
    "tasks", "runs", "waits", "approvals", "past_approvals", "always", "environments", "events", "outbox",
    "templates", "sessions", "messages", "exchanges", "parent_sessions", "remnants", "hearings", "slots",
    "watches", "signals", "refusals", "lanes", "run_totals", "totals",
)  # fmt: skip
_WIDEST_GAP = 100_000  # records probed one by one between two readable ends


@record
class Repaired:
    set_aside: str
    saved: dict[str, int]
    lost: dict[str, int]


def damage(path: str) -> list[str]:
    """Return what is wrong with a store's file; an empty list when it is sound."""
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            found = [row[0] for row in db.execute("PRAGMA quick_check(20)")]
            broken = list(db.execute("PRAGMA foreign_key_check"))
        finally:
            db.close()
    except sqlite3.Error as error:
        return [str(error)]
    return [each for each in found if each != "ok"] + [
        f"{row[0]} {row[1]} refers to a row that does not exist" for row in broken
    ]


def repair(path: str, stamp: str) -> Repaired:
    """Set the damaged file aside under a name with `stamp`, and build a new one from what can be read."""
    aside = f"{path}.damaged-{stamp}"
    fresh = f"{path}.repairing"
    for leftover in (fresh, f"{fresh}-wal", f"{fresh}-shm"):
        if os.path.exists(leftover):
            os.unlink(leftover)
    saved, lost = _copy(path, fresh)
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.replace(path + suffix, aside + suffix)
    os.replace(fresh, path)
    return Repaired(set_aside=aside, saved=saved, lost=lost)


def _copy(path: str, fresh: str) -> tuple[dict[str, int], dict[str, int]]:
    target = Connection(fresh, new=True)
    saved: dict[str, int] = {}
    lost: dict[str, int] = {}
    try:
        source = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            for table in _TABLES:
                saved[table], lost[table] = _copy_table(source, target, table)
        finally:
            source.close()
        target.read("PRAGMA wal_checkpoint(TRUNCATE)")
        target.read("PRAGMA journal_mode = DELETE")  # so that the new store is one file and can be moved
    finally:
        target.close()
    return saved, lost


def _copy_table(source: sqlite3.Connection, target: Connection, table: str) -> tuple[int, int]:
    columns = [row[1] for row in target.read(f"PRAGMA table_info({table})")]
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    saved = lost = 0
    with target:
        for row in _readable(source, table, columns):
            try:
                target.write(f"INSERT INTO {table} ({names}) VALUES ({marks})", row)
                saved += 1
            except (sqlite3.IntegrityError, StoreUnreadable):
                lost += 1  # it belongs to a record that is gone, or its own values are garbage
    return saved, lost


def _readable(source: sqlite3.Connection, table: str, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield what can be read: from the front, from the back, and one by one in between."""
    names = ", ".join(columns)
    key = columns[0] if columns[0] in ("seq", "id") else None
    seen: set[Any] = set()
    ends: list[int] = []
    for order in ("ASC", "DESC") if key else ("",):
        last = None
        try:
            for row in source.execute(
                f"SELECT {names} FROM {table}" + (f" ORDER BY {key} {order}" if key else "")
            ):
                if row[0] in seen and key:
                    break
                last = row[0]
                seen.add(last)
                yield row
        except sqlite3.Error:
            if isinstance(last, int):
                ends.append(last)
            continue
        return  # read to the end without an error
    if key and len(ends) == 2 and 0 < ends[1] - ends[0] <= _WIDEST_GAP:
        for number in range(ends[0] + 1, ends[1]):
            try:
                yield from source.execute(f"SELECT {names} FROM {table} WHERE {key} = ?", (number,))
            except sqlite3.Error:
                continue
