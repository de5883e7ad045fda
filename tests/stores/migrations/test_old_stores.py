"""Old stores: the current version opens the store of every earlier one, with everything in it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.ports.home import Home
from errands.ports.store import Query
from errands.stores.sqlite.connection import SCHEMA, Connection
from errands.stores.sqlite.migrations import MIGRATIONS
from errands.testing.engines import embedded

OLD = sorted(Path(__file__).parent.glob("schema-*.sql"))


@pytest.fixture(params=OLD, ids=lambda path: path.stem)
def home(request: pytest.FixtureRequest, own_home: Path) -> Home:
    """A home with the store of an old version."""
    own_home.mkdir(mode=0o700)
    home = Home(path=str(own_home))
    with sqlite3.connect(home.store) as db:
        db.executescript(request.param.read_text())
    db.close()
    return home


def schema(path: str) -> list[tuple[str, str]]:
    db = sqlite3.connect(path)
    rows = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    ).fetchall()
    db.close()
    return [(name, " ".join((sql or "").replace('"', "").split())) for name, sql in rows]


def test_there_is_a_store_of_every_schema() -> None:
    assert [path.stem for path in OLD] == [f"schema-{number + 1}" for number in range(len(MIGRATIONS))]


def test_an_old_store_gets_the_schema_of_a_new_one(home: Home, tmp_path: Path) -> None:
    assert Connection(home.store).version() == len(MIGRATIONS) == SCHEMA
    fresh = str(tmp_path / "fresh" / "errands.db")
    Connection(fresh).close()
    assert schema(home.store) == schema(fresh)


@pytest.mark.trap(72)
@pytest.mark.fault("F19")
def test_a_migration_loses_nothing(home: Home) -> None:
    engine = open_engine(home)

    assert {view.name: view.state for view in engine.list(Query())} == {
        "failing": "failed",
        "fine": "completed",
        "stopped": "cancelled",
        "skipped": "skipped",
        "delayed": "pending",
        "waiting": "pending",
        "proposed": "proposed",
    }
    assert engine.store.counts() == {
        "proposed": 1, "pending": 2, "running": 0, "completed": 1, "failed": 2, "cancelled": 1, "skipped": 1,
    }  # fmt: skip
    failing = engine.get("failing")
    details = failing.details or {}
    assert [(run.number, run.cause, run.exit_code) for run in failing.history] == [
        (1, "submit", 3),
        (2, "restart", 3),
    ]
    assert (failing.batch, failing.key, failing.priority, failing.description) == (
        "release",
        "once",
        "high",
        "says hello",
    )
    assert (details["env"], details["limits"]["timeout"]) == ({"COLOUR": "blue"}, 60)
    assert [event.name for event in engine.events("stopped")] == [
        "queued",
        "approved",
        "started",
        "stop requested",
        "cancelled",
    ]
    asked = engine.get("proposed").question
    assert asked is not None
    assert (asked.state, asked.reasons[0].undo) == ("waiting", "no")
    assert (failing.approved_by, engine.get("fine").approved_by) == ("ada (--yes)", "judge")
    assert engine.get("fine").parent == "chat-1"
    assert len(engine.take_notices("user", reader="test")) == 4
    assert list(engine.templates()) == ["greet"]
    engine.close()


async def test_work_continues_where_it_stopped(home: Home) -> None:
    async with embedded(home.path, **{"retention.enabled": "false"}) as engine:
        await engine.restart("failing")
        assert (await engine.wait("failing")).latest.exit_code == 3
        assert await engine.text("failing") == "hello\n"
        assert (await engine.submit("true", key="once")).name == "failing"
        await engine.cancel("delayed")
        assert (await engine.wait("waiting")).state == "skipped"
        greeting = engine.engine.submit_template("greet", {})
        await engine.wait(greeting.id)
        assert await engine.text(greeting.id) == "hello world\n"
