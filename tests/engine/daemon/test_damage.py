"""Damage stays local: a damaged record, log or question affects no other task."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
from pathlib import Path

import pytest

from errands.api import connect
from errands.engine.daemon import bell_server
from errands.engine.daemon.dispatcher import Dispatcher
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import WITHIN, TestEngine, until
from tests.engine.daemons import Daemons, eventually, finished


@pytest.mark.fault("F11", "F18")
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE runs SET created_at = 'x' WHERE seq = 1",
        "UPDATE runs SET created_at = 'x', state = 'running', stop_requested_at = 1 WHERE seq = 1",
        "UPDATE tasks SET action = 'x' WHERE seq = 1",
        "UPDATE tasks SET evidence = 'x' WHERE seq = 1",
    ],
    ids=["pending", "stopping", "unreadable", "evidence"],
)
def test_a_damaged_run_does_not_keep_others_from_starting(
    daemons: Daemons, client: Engine, damage: str
) -> None:
    _bad, *good = client.submit_all([Draft(command="true", name=f"n{i}") for i in range(8)])
    with client.store as store:
        store.db.write(damage)  # type: ignore[attr-defined]  # the store of tests is SQLite
    daemons.start()

    assert {finished(client, task.id).state for task in good} == {"completed"}


@pytest.mark.fault("F11", "F18")
def test_a_run_whose_environment_is_damaged_fails_alone(daemons: Daemons, client: Engine) -> None:
    bad = client.submit(Draft(command="true", environ={"PATH": "/nowhere"}))
    good = client.submit(Draft(command="true"))
    with client.store as store:
        store.db.write("UPDATE environments SET vars = '{broken' WHERE vars LIKE '%/nowhere%'")  # type: ignore[attr-defined]
    daemons.start()

    assert "damaged" in (finished(client, bad.id).latest.error or "")
    assert finished(client, good.id).state == "completed"


@pytest.mark.fault("F11", "F18")
def test_a_run_whose_evidence_is_damaged_fails_alone_after_a_crash(daemons: Daemons, client: Engine) -> None:
    bad, good = client.submit_all([Draft(command="true", name=name) for name in ("bad", "good")])
    with client.store as store:
        store.claim("shell", limit=1, now=client.clock.now())  # by a daemon that died before it started it
        store.db.write("UPDATE tasks SET evidence = 'x' WHERE seq = 1")  # type: ignore[attr-defined]
    daemons.start()

    assert "damaged" in (finished(client, bad.id).latest.error or "")
    assert finished(client, good.id).state == "completed"


@pytest.mark.fault("F11", "F18")
def test_a_damaged_question_does_not_hide_others_and_can_be_answered(client: Engine) -> None:
    bad, good = client.submit_all(
        [Draft(command=("rm", "/nowhere/x"), name=name, propose=True) for name in ("bad", "good")]
    )
    with client.store as store:
        store.db.write("UPDATE approvals SET reasons = '[[1]]' WHERE id = 1")  # type: ignore[attr-defined]

    assert [view.id for view in client.list(Query(states=("proposed",)))] == [good.id, bad.id]
    assert client.reject(bad.id, by="ada", door="terminal").state == "rejected"


@pytest.mark.fault("F11", "F18")
async def test_a_damaged_dependent_does_not_undo_the_end_of_its_dependency(engine: TestEngine) -> None:
    first = await engine.submit("read line; exit 3", input="pipe")
    waiting = await engine.submit("true", after=[first.id])
    with engine.engine.store as store:
        store.db.write("UPDATE tasks SET created_at = 'x' WHERE id = ?", (waiting.id,))  # type: ignore[attr-defined]
    await until(lambda: engine.engine.store.view(first.id).latest.pid)
    await engine.send(first.id, b"\n")

    assert (await engine.wait(first.id, timeout=WITHIN)).state == "failed"


async def test_a_task_that_garbles_its_record_ends_like_any_other(engine: TestEngine) -> None:
    command = 'echo done; printf "pid nonsense\\n" >> "$ERRANDS_RUN_DIR/record.1"'

    assert (await engine.finished(command)).state == "completed"
    assert (await engine.finished("true")).state == "completed"


@pytest.mark.fault("F11")
@pytest.mark.parametrize(
    "replacement",
    ['mkfifo "$it"', 'mkdir "$it"', 'ln -s /etc/hostname "$it"', 'ln -s /dev/zero "$it"'],
    ids=["fifo", "directory", "link", "device"],
)
def test_a_task_that_replaces_its_files_keeps_neither_the_daemon_nor_a_reader_waiting(
    daemons: Daemons, client: Engine, tmp_path: Path, replacement: str
) -> None:
    names = "record.1 output.log progress"
    replace = f'for it in {names}; do it="$ERRANDS_RUN_DIR/$it"; rm -f "$it"; {replacement}; done'
    bad = client.submit(Draft(command=f"{replace}; touch {tmp_path}/replaced; sleep 1000"))
    daemons.start()
    eventually((tmp_path / "replaced").exists)
    daemons.kill()
    daemons.start()
    good = client.submit(Draft(command="echo fine"))

    assert finished(client, good.id).state == "completed"
    assert {view.id for view in client.list(Query())} == {bad.id, good.id}
    for look in (client.get, client.output, client.tail):
        look(bad.id)
    # Its shim may still be there to end it, or be gone.
    assert finished(client, bad.id).latest.failure in ("lost", "signal")


async def test_a_waiter_gets_the_error_that_ended_the_loops(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Dispatcher, "claim", broken)
    async with connect(home.path) as engine:
        task = await engine.submit("true")
        with pytest.raises(RuntimeError, match="a bug"):
            await engine.wait(task.id, timeout=WITHIN)
        await engine.cancel(task.id)


async def test_a_daemon_out_of_file_descriptors_does_not_spin(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bell_server, "CROWDED", 0.5)  # longer than a busy machine keeps this process waiting
    os.makedirs(home.path, exist_ok=True)
    rings: list[None] = []
    bells = bell_server.BellServer(home.bell, lambda _: rings.append(None), lambda _: None)
    bells.open()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket(socket.AF_UNIX) as line, caplog.at_level(logging.WARNING):
        line.connect(home.bell)
        line.send(b"\n")
        lowest = os.dup(0)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
        try:
            for _ in range(50):
                await asyncio.sleep(0)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert len(caplog.records) == 1
        await until(lambda: rings)
    bells.close()
