"""The output file of a run: it exists, with its header, when a launch returns, with or without a daemon."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.model.view import View
from errands.ports.home import Home
from errands.testing.engines import TestEngine, embedded

WAITING = "echo ready; read line"


def header(view: View) -> str:
    return Path(view.latest.output_file).read_text()


@pytest.mark.spec("O2", "O17")
def test_a_queued_task_has_its_output_file_without_a_daemon(home: Home) -> None:
    client = open_engine(home, consent="yes")
    views = client.submit_all([Draft(command="echo one", cwd="/"), Draft(command="touch two", cwd="/")])
    client.close()

    for view, command in zip(views, ("echo one", "touch two"), strict=True):
        lines = header(view).splitlines()
        assert lines[:3] == [f"# task      {view.id}, run 1", f"# command   {command}", "# directory /"]
        assert lines[3].startswith(f"# approved  by {view.approved_by}, ")
        assert lines[4:] == [""]
        assert os.stat(view.latest.output_file).st_mode & 0o777 == 0o600
        assert os.stat(home.run(view.latest.id)).st_mode & 0o777 == 0o700
        assert os.listdir(home.run(view.latest.id)) == ["output.log"]


@pytest.mark.spec("O17")
def test_a_run_has_no_output_before_it_starts(home: Home) -> None:
    client = open_engine(home)
    view = client.submit(Draft(command="echo one", cwd="/"))
    piece, tail = client.output(view.id), client.tail(view.id)
    client.close()

    assert (piece.content, piece.next_offset) == (tail.content, tail.next_offset) == (b"", 0)


@pytest.mark.spec("O2", "O17", "A7")
async def test_the_header_says_who_approved_a_proposed_task_after_the_approval(
    engine: TestEngine,
) -> None:
    task = await engine.submit("echo hello; touch x", propose=True, cwd="/tmp")
    before = header(task)
    await engine.approve(task.id, by="ada")
    done = await engine.wait(task.id, timeout=60)
    after = header(done)

    assert before.splitlines()[-2:] == ["# directory /tmp", ""]
    assert "# approved  by ada, " in after
    assert after.split("\n\n", 1)[0].splitlines()[-1].startswith("# started ")
    assert after.endswith("UTC\n\nhello\n")
    assert (await engine.output(task.id)).content == b"hello\n"


@pytest.mark.spec("O17")
async def test_a_pending_run_has_its_output_file_and_keeps_it_when_cancelled(
    engine: TestEngine,
) -> None:
    first = await engine.started(WAITING, input="pipe")
    second = await engine.submit("echo later", after=[first.id])
    before = header(second)
    cancelled = await engine.cancel(second.id)
    await engine.send(first.id, b"\n")

    assert before.startswith(f"# task      {second.id}, run 1\n")
    assert header(cancelled[0]) == before
    assert await engine.text(second.id) == ""


@pytest.mark.spec("O17")
async def test_a_further_run_has_its_output_file_when_the_call_returns(engine: TestEngine) -> None:
    command = await engine.finished("echo hello")
    daily = await engine.submit("echo again", every=timedelta(days=1))
    # Nothing is awaited, so nothing has been started.
    views = [engine.engine.restart(command.id), engine.engine.schedules.fire(daily.id)]

    assert [header(view).splitlines()[0] for view in views] == [
        f"# task      {command.id}, run 2",
        f"# task      {daily.id}, run 1",
    ]


@pytest.mark.spec("O17")
def test_a_refused_launch_leaves_no_directory(home: Home) -> None:
    client = open_engine(home)
    with pytest.raises(BadValue):
        client.submit_all([Draft(command="echo one"), Draft(command="echo two", lane="nowhere")])
    client.close()

    assert not os.path.exists(home.runs) or os.listdir(home.runs) == []


@pytest.mark.spec("O17")
@pytest.mark.fault("F1")
async def test_a_run_whose_directory_is_removed_before_it_starts_still_runs(home: Home) -> None:
    client = open_engine(home)
    view = client.submit(Draft(command="echo hello", cwd="/"))
    client.close()
    os.unlink(view.latest.output_file)
    os.rmdir(home.run(view.latest.id))
    async with embedded(home.path) as engine:
        done = await engine.wait(view.id, timeout=60)

        assert done.state == "completed"
        assert header(done).startswith(f"# task      {view.id}, run 1\n")
        assert await engine.text(view.id) == "hello\n"
