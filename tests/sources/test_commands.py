"""Commands that are looked at now and then: judged with their task, never without end, and seen to change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.approval import ruling
from errands.engine.engine import Engine
from errands.engine.triggers.source_context import WatchContext, watched
from errands.model.errors import BadValue, Changed, SourceError
from errands.model.options.draft import Draft
from errands.model.record import evolve
from errands.model.task import Task
from errands.model.verdict import Judgement
from errands.ports.home import Home
from errands.runners.system import linux
from errands.runners.watched_command import run_watched
from errands.sources.command import Command
from errands.testing.engines import TestEngine, until
from tests.sources.watches import looks, ran, watching

walled = pytest.mark.skipif(bool(linux.missing_walls()), reason=linux.missing_walls())


def context_of(client: Engine, task: Task) -> WatchContext:
    return WatchContext(client, task, datetime.now(UTC), run_watched)


def source_of(client: Engine, project: Path, line: str, **options: str) -> Command:
    task = client.store.task(
        client.submit(watching(project, f"command:{line}", on_options={"every": "1s", **options})).id
    )
    source = Command(watched(task), context_of(client, task))
    source.every = 0.0  # do not wait a second here
    return source


@pytest.mark.spec("T6")
@pytest.mark.parametrize(
    ("when", "told"),
    [
        ("changed", ["printed something else", "exited with code 3, previously with 0"]),
        ("output", ["printed something else"]),
        ("exit", ["exited with code 3, previously with 0"]),
    ],
)
async def test_output_and_exit_code_are_compared(
    client: Engine, project: Path, when: str, told: list[str]
) -> None:
    source = source_of(client, project, "cat words; exit $(cat code)", when=when)
    found: list[str] = []
    looking, line = source.observe(), "cat words; exit $(cat code) "
    for words, code in (("a", 0), ("a", 0), ("b", 0), ("b", 3), ("b", 3)):
        (project / "words").write_text(words)
        (project / "code").write_text(str(code))
        found += [each.text.removeprefix(line) for each in (await anext(looking)).events]

    assert found == told


@pytest.mark.spec("T6")
async def test_a_match_is_reported_when_it_begins(client: Engine, project: Path) -> None:
    source = source_of(client, project, "cat log", match=r"ERROR: \w+")
    looking, found = source.observe(), []
    for words in ("fine", "fine\nERROR: disk\n", "ERROR: disk\nmore", "fine", "ERROR: again"):
        (project / "log").write_text(words)
        found.append([each.facts["match"] for each in (await anext(looking)).events])

    assert found == [[], ["ERROR: disk"], [], [], ["ERROR: again"]]


async def test_a_command_that_takes_too_long_is_ended_with_all_it_started(
    client: Engine, project: Path
) -> None:
    source = source_of(client, project, "sleep 1000 & echo $! > pid; wait", timeout="1s")
    with pytest.raises(SourceError, match="took longer than 1 s and was ended"):
        await anext(source.observe())

    pid = int((project / "pid").read_text())
    await until(lambda: not os.path.exists(f"/proc/{pid}") or b"Z" in _state(pid))


def _state(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return b"Z"


async def test_a_flood_of_output_is_bounded(client: Engine, project: Path) -> None:
    line = "head -c 30000000 /dev/zero | tr '\\0' x; echo the end"
    task = client.store.task(client.submit(watching(project, f"command:{line}")).id)
    printed = await context_of(client, task).execute(line, timeout=60)

    assert len(printed.output) <= 16_000
    assert printed.output.endswith("xthe end\n")


@pytest.mark.spec("A1")
def test_a_line_that_needs_a_yes_makes_a_proposal(home: Home, project: Path) -> None:
    asking = open_engine(home)
    harmless = asking.submit(watching(project, "command:git status", "ls"))
    harmful = asking.submit(watching(project, "command:rm -rf src", "ls"))
    prompt = asking.submit(Draft(prompt="what is new?", cwd=str(project), on="command:rm -rf src"))

    assert (harmless.state, harmful.state, prompt.state) == ("active", "proposed", "proposed")
    assert asking.store.watches()[0].task_id == harmless.id
    assert len(asking.store.watches()) == 1
    for each in (harmful, prompt):
        assert each.question is not None
        assert "src" in " ".join(reason.text for reason in each.question.reasons)
        assert (asking.get(each.id).details or {})["watched"] == "rm -rf src"
    asking.close()


@pytest.mark.spec("A8")
async def test_a_watched_command_cannot_approve_anything(
    client: Engine, home: Home, project: Path, tmp_path: Path
) -> None:
    asking = open_engine(home)
    asked = asking.submit(Draft(command=("rm", "/nowhere/x")))
    asking.close()
    script = tmp_path / "approve.py"
    script.write_text(
        "from errands.bootstrap import open_engine, open_home\n"
        f"open_engine(open_home({home.path!r})).approve({asked.id!r}, by='ada', door='terminal')\n"
    )
    for line in (f"{sys.executable} {script}", f"setsid -w env -i {sys.executable} {script}"):
        task = client.store.task(client.submit(watching(project, f"command:{line}")).id)
        printed = await context_of(client, task).execute(line, timeout=60)

        assert "NotAPerson" in printed.output, printed.output
    assert client.get(asked.id).state == "proposed"


@walled
@pytest.mark.spec("A13")
@pytest.mark.parametrize("prompt", [None, "say what changed"])
async def test_a_watched_command_that_only_reads_is_held_to_that(
    client: Engine, project: Path, prompt: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "cat words; echo x > words; echo x > $TMPDIR/y && cat $TMPDIR/y"
    (project / "words").write_text("a\n")
    with monkeypatch.context() as patched:
        patched.setattr(ruling, "judge", lambda *_, **__: Judgement(verdict="auto"))
        draft = watching(project, f"command:{line}")
        draft = draft if prompt is None else evolve(draft, command=(), prompt=prompt, agent="offline")
        task = client.store.task(client.submit(draft).id)
    printed = await context_of(client, task).execute(line, timeout=60)

    assert printed.output.startswith("a\n")
    assert printed.output.endswith("x\n")
    assert (project / "words").read_text() == "a\n"
    assert os.listdir(client.home.scratch) == []


async def test_what_a_watched_command_leaves_behind_is_ended(client: Engine, project: Path) -> None:
    line = "setsid sh -c 'echo $$ > pid; exec sleep 1000' & until [ -s pid ]; do :; done; echo done"
    task = client.store.task(client.submit(watching(project, f"command:{line}")).id)
    printed = await context_of(client, task).execute(line, timeout=60)

    assert printed.output == "done\n"
    assert _state(int((project / "pid").read_text())) == b"Z"


async def test_the_signal_that_ended_a_watched_command_is_its_exit_code(
    client: Engine, project: Path
) -> None:
    task = client.store.task(client.submit(watching(project, "command:kill -TERM $$")).id)

    assert (await context_of(client, task).execute("kill -TERM $$", timeout=60)).code == -15


async def test_a_watched_command_that_cannot_be_run_says_why(client: Engine, project: Path) -> None:
    task = client.store.task(client.submit(watching(project, "command:ls")).id)
    project.rename(project.with_name("elsewhere"))

    with pytest.raises(SourceError, match="cannot be run: the working directory does not exist"):
        await context_of(client, task).execute("ls", timeout=60)


@pytest.mark.spec("A1")
async def test_only_the_line_that_was_judged_is_run(client: Engine, project: Path) -> None:
    task = client.store.task(client.submit(watching(project, "command:ls")).id)
    context = context_of(client, task)
    with pytest.raises(SourceError, match="was not judged"):
        await context.execute("ls; rm -rf src", timeout=60)


@pytest.mark.spec("A1")
async def test_a_script_that_has_changed_is_not_run_but_asked_about(
    engine: TestEngine, client: Engine, project: Path
) -> None:
    script = project / "check.sh"
    script.write_text("#!/bin/sh\necho fine\n")
    script.chmod(0o755)
    task = await engine.submit(
        watching(project, "command:./check.sh", "echo ran", on_options={"every": "1s"})
    )
    await until(lambda: looks(client, task.id))
    script.write_text("#!/bin/sh\ntouch pwned\n")
    await until(lambda: client.store.task(task.id).state == "proposed")

    assert not (project / "pwned").exists()
    question = client.store.question(task.id)
    assert question is not None
    assert any("check.sh" in each.text for each in question.reasons)
    client.approve(task.id, by="somebody", door="terminal")
    await until(lambda: (project / "pwned").exists())


async def test_a_changed_script_is_named(client: Engine, project: Path) -> None:
    script = project / "check.sh"
    script.write_text("#!/bin/sh\necho fine\n")
    script.chmod(0o755)
    task = client.store.task(client.submit(watching(project, "command:./check.sh")).id)
    context = context_of(client, task)
    assert (await context.execute("./check.sh", timeout=60)).output == "fine\n"
    script.write_text("#!/bin/sh\necho other\n")
    with pytest.raises(Changed, match=r"check\.sh"):
        await context.execute("./check.sh", timeout=60)


def test_a_sandbox_and_a_watched_command_exclude_each_other(client: Engine, project: Path) -> None:
    with pytest.raises(BadValue, match="leave out one of the two"):
        client.submit(watching(project, "command:ls", sandbox="files"))


@pytest.mark.spec("T6")
async def test_a_commit_is_seen_by_a_command(engine: TestEngine, client: Engine, project: Path) -> None:
    def git(*words: str) -> str:
        names = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
        return subprocess.run(
            ["git", *names, *words], cwd=project, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    task = await engine.submit(
        watching(project, "command:git rev-parse HEAD", "git log -1", on_options={"every": "1s"})
    )
    await until(lambda: looks(client, task.id))
    git("commit", "-q", "--allow-empty", "-m", "Go on")
    await until(lambda: ran(client, task.id) == 1)

    (told,) = client.store.signals(task.id, run=1)
    assert json.loads(told.body)["output"].strip() == git("rev-parse", "HEAD")
    assert b"Go on" in client.output(task.id).content
