"""A damaged store keeps every record that can still be read."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from errands.model.errors import StoreError, StoreUnreadable
from errands.ports.store import Query
from errands.stores.sqlite.connection import Connection
from errands.stores.sqlite.repair import damage, repair
from errands.stores.sqlite.store import SqliteStore
from tests.contracts.store_runs import add
from tests.samples import sample_task


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A store with 300 tasks, closed and in one file."""
    path = str(tmp_path / "home" / "errands.db")
    store = SqliteStore(Connection(path), "/runs")
    for number in range(300):
        add(store, sample_task(f"task{number}-222222"))
    store.close()
    return path


def test_an_intact_store_has_no_damage(path: str) -> None:
    assert damage(path) == []


@pytest.mark.fault("F18")
def test_repair_sets_the_damaged_file_aside_and_keeps_what_can_be_read(path: str) -> None:
    page = 4096
    content = bytearray(Path(path).read_bytes())
    for number in (20, 30):
        content[number * page : (number + 1) * page] = os.urandom(page)
    Path(path).write_bytes(content)
    assert damage(path)

    repaired = repair(path, "then")

    assert Path(repaired.set_aside).read_bytes()[: len(content)] == bytes(content)
    assert damage(path) == []
    store = SqliteStore(Connection(path), "/runs")
    assert 0 < len(store.views(Query())) <= repaired.saved["tasks"] <= 300
    store.close()


@pytest.mark.fault("F18")
def test_no_damage_crashes_the_reader_or_silently_empties_the_store(path: str) -> None:
    """Flipped, cut and zeroed bytes: the store opens and is whole, or says that it is damaged."""
    sound = Path(path).read_bytes()
    dice = random.Random(4)
    for _ in range(300):
        content = bytearray(sound)
        at = dice.randrange(len(content))
        match dice.randrange(3):
            case 0:
                content[at] ^= 1 << dice.randrange(8)
            case 1:
                del content[at:]
            case 2:
                content[at : at + 512] = bytes(len(content[at : at + 512]))
        for suffix in ("-wal", "-shm"):
            Path(path + suffix).unlink(missing_ok=True)
        Path(path).write_bytes(content)
        try:
            store = SqliteStore(Connection(path), "/runs")
        except StoreError:
            continue
        try:
            shown, damaged = len(store.views(Query())), store.damaged()
        except StoreError:
            continue
        finally:
            store.close()
        assert shown == 300 or damaged or damage(path)


@pytest.mark.trap(52)
def test_a_store_that_vanished_is_not_replaced_by_an_empty_one(path: str) -> None:
    runs = Path(path).parent / "runs" / "task1-222222.1"
    runs.mkdir(parents=True)
    Path(path).write_bytes(b"")
    with pytest.raises(StoreUnreadable, match="nothing was changed"):
        Connection(path)
