"""Submission: an id at once, a task on disk, and the caller's environment and directory."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.errors import Ambiguous, BadValue, NotFound
from errands.model.options.draft import Draft
from errands.model.text.ids import is_task_id
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import TestEngine
from tests.engine.daemons import Daemons, finished
from tests.samples import moves

SUBMIT = """
import sys
from errands.bootstrap import open_engine
from errands.model.options.draft import Draft
views = open_engine().submit_all([Draft(command="true", name=f"n{i}") for i in range(int(sys.argv[1]))])
print(*(view.id for view in views))
"""


@pytest.mark.spec("L1")
async def test_a_launch_returns_at_once_with_an_id_and_its_parent(engine: TestEngine) -> None:
    task = await engine.submit("sleep 1000", parent="chat-1", message="message-7")

    assert is_task_id(task.id)
    assert task.state in ("pending", "running")
    found = await engine.get(task.id)
    assert found.parent == "chat-1"
    assert (found.details or {})["message"] == "message-7"


@pytest.mark.spec("L2")
async def test_a_task_has_a_command_a_directory_an_environment_and_a_description(
    engine: TestEngine, tmp_path: Path
) -> None:
    task = await engine.finished(
        'echo "$GREETING from $PWD"', cwd=str(tmp_path), env={"GREETING": "hello"}, description="say hello"
    )

    assert await engine.text(task.id) == f"hello from {tmp_path}\n"
    assert (task.description, task.command, task.cwd) == (
        "say hello",
        'echo "$GREETING from $PWD"',
        str(tmp_path),
    )


@pytest.mark.spec("L2")
async def test_an_argument_list_is_executed_as_it_is_and_a_line_is_run_by_a_shell(engine: TestEngine) -> None:
    words = await engine.finished(["echo", "$HOME; *", "a  b"])
    line = await engine.finished("echo $((6 * 7))")

    assert await engine.text(words.id) == "$HOME; * a  b\n"
    assert await engine.text(line.id) == "42\n"


@pytest.mark.trap(40)
def test_when_a_launch_returns_every_other_process_sees_the_task(client: Engine, home: Home) -> None:
    task = client.submit(Draft(command="true"))

    other = open_engine(home, consent="yes")
    assert other.get(task.id).state == "pending"
    assert moves(other.events(task.id)) == ["queued"]
    other.close()


@pytest.mark.spec("L4")
def test_ids_stay_unique_when_several_processes_launch_at_once(home: Home) -> None:
    launchers = [
        subprocess.Popen([sys.executable, "-c", SUBMIT, "300"], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    ids = [each for launcher in launchers for each in launcher.communicate()[0].split()]

    assert len(set(ids)) == len(ids) == 900
    engine = open_engine(home, consent="yes")
    assert {view.id for view in engine.list(Query())} == set(ids)
    engine.close()


@pytest.mark.spec("L4")
@pytest.mark.trap(71)
def test_an_id_that_is_taken_is_generated_again(client: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = iter([b"the same", b"the same", b"another!"])
    monkeypatch.setattr(os, "urandom", lambda size: next(draws))

    first, second = client.submit(Draft(command="true")), client.submit(Draft(command="true"))
    assert first.id != second.id
    assert first.id.startswith("true-")


@pytest.mark.spec("L4")
def test_a_unique_prefix_of_an_id_is_enough_everywhere(client: Engine) -> None:
    task = client.submit(Draft(command="true", name="only-one"))
    client.submit(Draft(command="true", name="twin"))
    client.submit(Draft(command="true", name="twin"))

    assert client.get("only").id == client.cancel(["on"])[0].id == task.id
    assert client.submit(Draft(command="true", after=("only",))).state == "skipped"
    with pytest.raises(Ambiguous, match="matches several tasks"):
        client.get("twin")
    assert client.clear(["only-o"]) == [task.id]


@pytest.mark.fault("F54")
@pytest.mark.parametrize(
    "name", ["../../etc", "%2e%2e", "x\0y", "x" * 4096, "é", "", "-", "a/b", ".", "no-222222"]
)
def test_an_invalid_id_is_not_found(client: Engine, name: str) -> None:
    for question in (client.get, client.output, client.tail, client.events, client.restart):
        with pytest.raises(NotFound, match=r"unknown task|is not a run's id"):
            question(name)
    for verb in (client.cancel, client.clear):
        with pytest.raises(NotFound, match="unknown task"):
            verb([name])


@pytest.mark.spec("L8")
@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        (["no-such-program"], {}, "not found: no-such-program"),
        (["./missing"], {}, "missing"),
        (["/etc/passwd"], {}, "not executable: /etc/passwd"),
        (["/tmp"], {}, "a directory, not a program: /tmp"),
        ("true", {"cwd": "/no/such/place"}, "does not exist: /no/such/place"),
        ("true", {"cwd": "/etc/passwd"}, "not a directory: /etc/passwd"),
        ("true", {"env": {"BIG": "x" * 3_000_000}}, "too large"),
    ],
)
async def test_a_command_that_cannot_start_is_a_failed_run_that_says_why(
    engine: TestEngine, command: Any, options: dict[str, Any], words: str
) -> None:
    task = await engine.finished(command, **options)

    assert (task.state, task.latest.failure, task.latest.exit_code) == ("failed", "spawn", None)
    assert words in (task.latest.error or "")


@pytest.mark.fault("F43")
@pytest.mark.trap(29)
async def test_a_directory_that_is_removed_before_the_start_is_one_clear_failure(
    engine: TestEngine, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    first = await engine.started("echo ready; read line", input="pipe")
    task = await engine.submit("true", cwd=str(place), after=[first.id])
    place.rmdir()
    await engine.send(first.id, b"go\n")
    task = await engine.wait(task.id)

    assert task.state == "failed"
    assert f"does not exist: {place}" in (task.latest.error or "")
    assert (task.runs, task.latest.attempt) == (1, 1)
    assert (await engine.finished("true")).state == "completed"


@pytest.mark.fault("F43")
async def test_a_task_may_remove_the_directory_it_runs_in(engine: TestEngine, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    task = await engine.finished('rmdir "$PWD" && echo gone', cwd=str(place))

    assert (task.state, await engine.text(task.id)) == ("completed", "gone\n")


@pytest.mark.spec("L25")
@pytest.mark.fault("F44")
@pytest.mark.trap(28)
def test_a_task_sees_the_callers_environment_and_directory_and_not_the_daemons(
    daemons: Daemons, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_THE_DAEMON", "has this")
    daemons.start()
    monkeypatch.delenv("ONLY_THE_DAEMON")
    monkeypatch.chdir(tmp_path)
    said = []
    for name in ("one", "two"):
        greet = tmp_path / name / "greet"
        greet.parent.mkdir()
        greet.write_text(f'#!/bin/sh\necho "{name} $WHO ${{ONLY_THE_DAEMON-}} $PWD"\n')
        greet.chmod(0o755)
        monkeypatch.setenv("PATH", f"{greet.parent}:{os.defpath}")
        monkeypatch.setenv("WHO", f"launcher {name}")
        client = open_engine(home, consent="yes")
        task = finished(client, client.submit(Draft(command=("greet",))).id)
        said.append(client.output(task.id).content.decode())
        client.close()

    assert said == [f"one launcher one  {tmp_path}\n", f"two launcher two  {tmp_path}\n"]


@pytest.mark.spec("L25", "O16")
async def test_a_task_knows_its_own_ids_and_directories(engine: TestEngine, home: Home) -> None:
    task = await engine.finished(
        "echo $ERRANDS_TASK_ID $ERRANDS_RUN_ID $ERRANDS_RUN_DIR $ERRANDS_PROGRESS $ERRANDS_HOME"
    )
    run = home.run(task.latest.id)
    assert await engine.text(task.id) == f"{task.id} {task.latest.id} {run} {run}/progress {home.path}\n"


async def test_a_task_launched_by_a_task_names_its_parent(engine: TestEngine) -> None:
    task = await engine.submit("true", environ={"ERRANDS_RUN_ID": "make-222222.1"})
    assert task.created_by == "run make-222222.1"


@pytest.mark.trap(41)
async def test_an_unknown_option_is_refused_and_creates_nothing(engine: TestEngine) -> None:
    with pytest.raises(BadValue, match=r"unknown option 'timeuot' \(did you mean timeout"):
        await engine.submit("true", timeuot=3)  # type: ignore[call-arg]
    with pytest.raises(BadValue, match="after takes a list"):
        await engine.submit("true", after="true-222222")
    with pytest.raises(BadValue, match="takes no further options"):
        await engine.submit(Draft(command="true"), name="x")
    assert await engine.list() == []


def test_of_several_drafts_all_or_none_become_tasks(client: Engine) -> None:
    with pytest.raises(NotFound, match="nobody"):
        client.submit_all(
            [Draft(command="true", name="a"), Draft(command="true", name="b", after=("nobody",))]
        )
    with pytest.raises(BadValue, match="the same name"):
        client.submit_all([Draft(command="true", name="a"), Draft(command="true", name="a")])
    assert client.list(Query()) == []


@pytest.mark.spec("S7")
def test_a_run_is_awaited_before_it_can_end(client: Engine) -> None:
    waiting = client.submit(Draft(command="true", hold=True, is_awaited=True))
    other = client.submit(Draft(command="true", hold=True))

    assert client.store.is_awaited(waiting.latest.id)
    assert not client.store.is_awaited(other.latest.id)


@pytest.mark.trap(7)
def test_the_reply_to_a_launch_says_how_its_end_will_be_reported(client: Engine) -> None:
    notified = client.submit(Draft(command="true", owner="chat-1"))
    silent = client.submit(Draft(command="true", notify="never"))

    assert "inbox of chat-1" in (notified.wake or "")
    assert f"none; ask with `errands wait {silent.id}`" in (silent.wake or "")


@pytest.mark.parametrize("nobody", ["", "../x", "-"])
def test_a_dependency_that_names_no_task_is_refused(client: Engine, nobody: str) -> None:
    client.submit(Draft(command="true"))
    with pytest.raises(NotFound, match=f"unknown task {nobody!r}"):
        client.submit(Draft(command="true", after=(nobody,)))


def test_a_user_name_that_is_not_text_still_identifies_the_caller(client: Engine) -> None:
    assert client.submit(Draft(command="true", environ={"USER": "\udcff"})).created_by == "?"


def test_a_caller_without_any_variables_has_a_name(client: Engine) -> None:
    assert client.submit(Draft(command="true", environ={})).created_by


async def test_concurrent_submissions_share_a_transaction_and_are_refused_one_by_one(
    engine: TestEngine,
) -> None:
    commits: list[None] = []
    exit_ = engine.engine.store.__class__.__exit__

    def count(store: object, *error: object) -> None:
        if store is engine.engine.store:
            commits.append(None)
        exit_(store, *error)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.engine.store.__class__, "__exit__", count)
        answers = await asyncio.gather(
            *[
                engine.submit(("true",), name=f"n{i}", lane="nowhere" if i == 7 else "shell")
                for i in range(20)
            ],
            return_exceptions=True,
        )
        shared = len(commits)

    assert [i for i, each in enumerate(answers) if isinstance(each, BadValue)] == [7]
    tasks = [each for each in answers if not isinstance(each, BaseException)]
    assert [task.name for task in tasks] == [f"n{i}" for i in range(20) if i != 7]
    assert shared == 1
    assert {view.state for view in await engine.wait_all([task.id for task in tasks])} == {"completed"}
