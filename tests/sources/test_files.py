"""Files that change make a task run: each change is seen, none twice, and not the task's own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from errands.engine.engine import Engine
from errands.model.errors import BadValue, SourceError
from errands.sources.paths import pattern_of, scan
from errands.testing.engines import TestEngine, until
from tests.engine.daemons import Daemons, eventually
from tests.sources.watches import check_books, has_run, is_quiet, looks, ran, tick, watching

STORM = 10_000


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("src/**/*.py", ["src/a.py", "src/deep/b.py"]),
        ("src/*.py", ["src/a.py"]),
        ("src/[ab].py", ["src/a.py"]),
        ("src/[!a].py", []),
        ("src/?.py", ["src/a.py"]),
        ("src", ["src/a.py", "src/deep/b.py", "src/c.txt"]),
        ("**/*.txt", ["src/c.txt"]),
        ("src/c.txt", ["src/c.txt"]),
        (".git/HEAD", [".git/HEAD"]),
    ],
)
def test_a_pattern_means_files(project: Path, pattern: str, meant: list[str]) -> None:
    for name in (
        "src/a.py",
        "src/deep/b.py",
        "src/c.txt",
        ".git/HEAD",
        "src/node_modules/d.py",
        "home/e.txt",
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()

    found = pattern_of(pattern, cwd=str(project), hidden=str(project / "home"))

    root = os.path.relpath(found.root, project)
    assert sorted(os.path.normpath(f"{root}/{name}") for name in scan(found)) == sorted(meant)


def test_a_directory_that_is_not_there_is_named(project: Path) -> None:
    with pytest.raises(SourceError, match=r"directory .*nowhere does not exist"):
        scan(pattern_of("nowhere/*.py", cwd=str(project), hidden="/nothing"))


@pytest.mark.spec("T6")
async def test_created_modified_and_deleted_files_make_a_run_each(
    engine: TestEngine, client: Engine, project: Path
) -> None:
    task = await engine.submit(watching(project, "file:src/*.py", 'cat "$ERRANDS_EVENT_FILE"'))
    await until(lambda: looks(client, task.id))
    place = project / "src" / "a.py"
    seen = []
    acts: list[Callable[[], object]] = [place.touch, lambda: place.write_text("x"), place.unlink]
    for number, act in enumerate(acts, 1):
        tick(project)
        act()
        await until(partial(has_run, client, task.id, number))
        event = json.loads(client.output(f"{task.id}.{number}").content.decode().splitlines()[-1])
        seen += [each["event"] for signal in event["signals"] for each in signal["changes"]]

    assert seen == ["created", "modified", "deleted"]
    check_books(client, task.id)


@pytest.mark.spec("T6")
async def test_only_the_events_that_were_asked_for_count(
    engine: TestEngine, client: Engine, project: Path
) -> None:
    draft = watching(project, "file:src/*.py", on_options={"events": "deleted"})
    task = await engine.submit(draft)
    await until(lambda: looks(client, task.id))
    baseline = client.store.watches()[0].baseline
    (project / "src" / "a.py").touch()
    await until(lambda: client.store.watches()[0].baseline != baseline)
    (project / "src" / "a.py").unlink()
    await until(lambda: ran(client, task.id) == 1)

    (signal,) = client.store.signals(task.id, run=1)
    assert json.loads(signal.body)["text"] == "a.py deleted"


async def test_what_changes_right_after_the_task_was_made_counts(
    engine: TestEngine, client: Engine, project: Path
) -> None:
    task = await engine.submit(watching(project, "file:src/*.py"))
    (project / "src" / "a.py").touch()  # before the first scan

    await until(lambda: ran(client, task.id) == 1)


@pytest.mark.trap(53)
@pytest.mark.spec("T6")
async def test_a_storm_makes_few_runs_and_the_last_state_is_seen(
    engine: TestEngine, client: Engine, project: Path
) -> None:
    draft = watching(
        project,
        "file:src/*.py",
        "cat src/last.py || true",
        debounce=timedelta(seconds=1),
        max_wait=timedelta(seconds=2),
    )
    task = await engine.submit(draft)
    await until(lambda: looks(client, task.id))
    for number in range(STORM):
        with open(f"{project}/src/{number % 1000}.py", "w") as file:
            file.write(str(number))
    (project / "src" / "last.py").write_text("the end")

    def is_seen() -> bool:
        return is_quiet(client, task.id) and b"the end" in client.output(task.id).content

    await until(is_seen)
    assert 1 <= len(client.store.history(task.id)) <= 8
    check_books(client, task.id)


@pytest.mark.trap(54)
@pytest.mark.spec("T11")
async def test_what_a_task_changes_itself_does_not_trigger_it(
    engine: TestEngine, client: Engine, project: Path
) -> None:
    task = await engine.submit(watching(project, "file:src/*", "date > src/own; sleep 0.2; date >> src/own"))
    await until(lambda: looks(client, task.id))
    (project / "src" / "a").touch()
    await until(lambda: [each for each in client.store.slots(task.id) if each.outcome == "skipped"])
    tick(project)
    (project / "src" / "b").touch()
    await until(lambda: ran(client, task.id) == 2)
    await until(lambda: len(client.store.slots(task.id)) >= 4 and is_quiet(client, task.id))

    assert [each.cause for each in client.store.history(task.id)] == ["event", "event"]
    assert {each.reason for each in client.store.slots(task.id)} == {"", "made by the task itself"}
    check_books(client, task.id)


@pytest.mark.spec("T11")
async def test_changes_during_a_run_count_if_the_option_says_so(
    engine: TestEngine, client: Engine, project: Path
) -> None:
    command = "test -e src/again || { touch src/again; sleep 0.3; }"
    draft = watching(project, "file:src/*", command, on_options={"during": "heard"})
    task = await engine.submit(draft)
    await until(lambda: looks(client, task.id))
    (project / "src" / "a").touch()

    await until(lambda: ran(client, task.id) == 2)
    check_books(client, task.id)


@pytest.mark.trap(56)
@pytest.mark.spec("T11", "T8")
def test_changes_while_no_daemon_runs_are_found_afterwards(
    client: Engine, daemons: Daemons, project: Path
) -> None:
    daemons.start()
    (project / "src" / "old.py").touch()
    tick(project)
    task = client.submit(watching(project, "file:src/*.py"))
    eventually(lambda: looks(client, task.id))
    daemons.end()
    (project / "src" / "new.py").touch()
    (project / "src" / "old.py").unlink()
    daemons.start()

    eventually(lambda: ran(client, task.id) == 1)
    (signal,) = client.store.signals(task.id, run=1)
    assert json.loads(signal.body)["text"] == "new.py created, old.py deleted"


@pytest.mark.spec("T2")
def test_changes_while_a_task_is_paused_are_ignored(client: Engine, daemons: Daemons, project: Path) -> None:
    daemons.start()
    task = client.submit(watching(project, "file:src/*.py"))
    eventually(lambda: looks(client, task.id))
    client.schedules.pause(task.id)
    (project / "src" / "unheard.py").touch()
    tick(project)
    client.schedules.unpause(task.id)
    eventually(lambda: looks(client, task.id))
    (project / "src" / "heard.py").touch()

    eventually(lambda: ran(client, task.id) == 1)
    (signal,) = client.store.signals(task.id, run=1)
    assert json.loads(signal.body)["text"] == "heard.py created"


@pytest.mark.spec("T6")
async def test_a_commit_in_a_real_repository_makes_a_run(
    engine: TestEngine, client: Engine, project: Path
) -> None:
    def git(*words: str) -> str:
        names = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
        return subprocess.run(
            ["git", *names, *words], cwd=project, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q", "-b", "main")
    task = await engine.submit(watching(project, "file:.git/refs/heads/**", "git log --format=%s -1"))
    await until(lambda: looks(client, task.id))
    (project / "a.py").write_text("x = 1\n")
    git("add", "a.py")
    git("commit", "-q", "-m", "Say what x is")

    await until(lambda: ran(client, task.id) == 1)
    assert b"Say what x is" in client.output(task.id).content


@pytest.mark.parametrize(
    ("on", "options", "said"),
    [
        ("src/*.py", {}, "is not an event; write SOURCE:SUBJECT"),
        ("file:", {}, "is not an event; write SOURCE:SUBJECT"),
        ("files:src/*.py", {}, "unknown event source 'files'.* plugins can add more"),
        ("file:src/*.py", {"event": "created"}, "has no option 'event'; it takes: events, during"),
        ("file:src/*.py", {"events": "moved"}, "events cannot be 'moved'; choose from: created"),
        ("command:ls", {"every": "0.1s"}, "must be at least 1s"),
        ("command:ls", {"match": "("}, "write a regular expression"),
        ("github:project", {}, "is not a repository; write github:owner/repository"),
        ("webhook:deploy", {}, "the configuration has no webhook 'deploy'"),
        ("task:*", {}, "or task:\\* with the option batch=NAME"),
    ],
)
def test_an_event_that_is_none_is_refused(
    client: Engine, on: str, options: dict[str, str], said: str
) -> None:
    with pytest.raises(BadValue, match=said):
        client.submit(watching(Path("/tmp"), on, on_options=options))
