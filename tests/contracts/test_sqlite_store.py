"""The SQLite store fulfils the contracts, and handles its file with care."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.model.errors import HomeError, StoreTooNew, StoreUnreadable, StoreUnwritable
from errands.stores.sqlite.connection import Connection
from errands.stores.sqlite.migrations import MIGRATIONS
from errands.stores.sqlite.store import SqliteStore
from tests.contracts.store_approvals import ApprovalContract
from tests.contracts.store_outbox import OutboxContract
from tests.contracts.store_queue import QueueContract
from tests.contracts.store_reports import ReportContract
from tests.contracts.store_retention import RetentionContract
from tests.contracts.store_runs import StoreContract, add, claim
from tests.contracts.store_schedules import ScheduleContract, WatchContract
from tests.contracts.store_sessions import SessionStoreContract
from tests.samples import sample_task


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "home" / "errands.db")


@pytest.fixture
def store(path: str) -> Iterator[SqliteStore]:
    opened = SqliteStore(Connection(path), "/runs")
    yield opened
    opened.close()


class TestSqliteSchedules(ScheduleContract, WatchContract):
    pass


class TestSqliteSessions(SessionStoreContract):
    pass


class TestSqliteOutbox(OutboxContract):
    pass


class TestSqliteQueue(QueueContract):
    pass


class TestSqliteReports(ReportContract):
    def test_the_data_version_sees_what_other_connections_change(self, store: SqliteStore, path: str) -> None:
        other = SqliteStore(Connection(path), "/runs")
        before = store.data_version()
        add(other, sample_task())
        other.close()
        assert store.data_version() != before


class TestSqliteRetention(RetentionContract):
    pass


class TestSqliteStore(StoreContract, ApprovalContract):
    pass


def test_only_its_owner_can_read_the_store(store: SqliteStore, path: str) -> None:
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


@pytest.mark.fault("F19")
@pytest.mark.trap(72)
def test_a_newer_schema_is_refused_and_left_alone(store: SqliteStore, path: str) -> None:
    store.close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = Path(path).read_bytes()
    with pytest.raises(StoreTooNew, match="upgrade Errands"):
        Connection(path)
    assert Path(path).read_bytes() == before


@pytest.mark.trap(52)
@pytest.mark.fault("F18")
def test_a_file_that_is_not_a_database_is_refused_and_left_alone(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(b"this is not a database, but a user's file" * 100)
    before = Path(path).read_bytes()
    with pytest.raises(StoreUnreadable, match="doctor --repair"):
        Connection(path)
    assert Path(path).read_bytes() == before


@pytest.mark.fault("F11")
@pytest.mark.fault("F18")
def test_one_damaged_record_fails_alone(store: SqliteStore) -> None:
    add(store, sample_task("a-222222"))
    add(store, sample_task("b-222222"))
    with store:
        store.db.write("UPDATE tasks SET action = '{broken' WHERE id = 'a-222222'")
    assert [task.id for task, _ in claim(store)] == ["b-222222"]
    latest = store.view("a-222222").latest
    assert latest.state == "failed"
    assert "damaged" in (latest.error or "")


@pytest.mark.fault("F20")
def test_a_directory_that_cannot_be_written_or_created_is_reported(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    with pytest.raises(HomeError, match="ERRANDS_HOME"):
        Connection(str(blocked / "home" / "errands.db"))
    with pytest.raises(StoreUnwritable, match="ERRANDS_HOME"):
        Connection("/proc/home/errands.db")  # where not even root can create anything


@pytest.mark.fault("F55")
def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to give a directory away")
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o755)
    os.chown(foreign, 65534, 65534)
    with pytest.raises(HomeError, match="another user"):
        Connection(str(foreign / "errands.db"))


def test_two_processes_may_create_the_store_at_once(path: str) -> None:
    first, second = Connection(path), Connection(path)
    assert first.version() == second.version() == len(MIGRATIONS)


def test_commits_of_a_process_with_two_connections_are_visible_to_all(store: SqliteStore, path: str) -> None:
    second = SqliteStore(Connection(path), "/runs")
    other = "import sys; from errands.stores.sqlite.connection import Connection as C; C(sys.argv[1]).close()"
    subprocess.run([sys.executable, "-c", other, path], check=True)
    add(store, sample_task("a-222222"))

    seen = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT id FROM tasks'))"
    found = subprocess.run([sys.executable, "-c", seen, path], check=True, capture_output=True, text=True)
    assert "a-222222" in found.stdout
    assert second.view("a-222222").id == "a-222222"
    second.close()


def test_a_store_that_is_a_symbolic_link_is_refused(path: str, tmp_path: Path) -> None:
    os.makedirs(os.path.dirname(path))
    (tmp_path / "elsewhere").touch()
    os.symlink(tmp_path / "elsewhere", path)
    with pytest.raises(StoreUnwritable, match="not a file"):
        Connection(path)


def test_the_states_of_the_schema_are_those_of_the_model(store: SqliteStore) -> None:
    from errands.model.states import RUN_MOVES, TASK_MOVES

    tables = dict(store.db.read("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    for states, table in ((TASK_MOVES, "tasks"), (RUN_MOVES, "runs")):
        assert all(f"'{state}'" in tables[table] for state in states)


@pytest.mark.fault("F55")
def test_a_directory_with_other_files_is_not_taken_over(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "a user's file").write_text("mine")
    with pytest.raises(HomeError, match="other files"):
        Connection(str(shared / "errands.db"))
    assert shared.stat().st_mode & 0o777 == 0o755
