"""Work that starts without approval, in a sandbox: from the judge's verdict to the end of its run."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from errands import config
from errands.engine.daemon.janitor import Janitor
from errands.engine.walls import bubblewrap
from errands.model.errors import IllegalMove, NotAPerson
from errands.model.options.draft import Draft
from errands.testing.engines import TestEngine, embedded
from tests.hand_clock import HandClock
from tests.walls import walled


@pytest.fixture
async def asking(own_home: Path) -> AsyncIterator[TestEngine]:
    """An engine whose tasks nobody has approved."""
    async with embedded(str(own_home), yes=False) as engine:
        yield engine


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a Makefile, and a file outside it."""
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "Makefile").write_text("all:\n\techo made > made; cat ../outside > got; true\n")
    (tmp_path / "outside").write_text("untouched")
    return project


@walled
@pytest.mark.spec("A2", "A13")
async def test_the_projects_own_work_starts_at_once_behind_walls(asking: TestEngine, project: Path) -> None:
    task = await asking.finished(("make",), cwd=str(project))

    assert task.state == "completed"
    assert (task.verdict, task.approved_by) == ("contained", "judge")
    assert (project / "made").read_text() == "made\n"
    assert (project / "got").read_text() == ""
    details = (await asking.get(task.id)).details or {}
    assert details["sandbox"] == {"writable": [str(project)], "network": False}


@walled
@pytest.mark.spec("A2")
@pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")
async def test_tests_builds_scripts_and_loops_work_inside(asking: TestEngine, project: Path) -> None:
    (project / "test_it.py").write_text("def test_it(tmp_path): (tmp_path / 'x').write_text('x')\n")
    (project / "it.js").write_text("require('fs').writeFileSync('js', 'x'); console.log('node')")
    (project / "package.json").write_text('{"scripts": {"test": "node it.js"}}')
    (project / "run.sh").write_text("#!/bin/sh\necho script | tee written\n")
    (project / "run.sh").chmod(0o755)
    (project / "main.c").write_text("int main(void) { return 0; }")
    for line, said in (
        ("python -m pytest -q test_it.py", "1 passed"),
        ("npm test", "node"),
        ("./run.sh", "script"),
        ("cc -o app main.c && ./app && echo built", "built"),
        ("for f in *.py; do echo found $f; done > list; cat list", "found test_it.py"),
    ):
        task = await asking.finished(line, cwd=str(project))

        assert (line, task.state, task.verdict) == (line, "completed", "contained"), await asking.text(
            task.id
        )
        assert said in await asking.text(task.id)


@walled
@pytest.mark.spec("A2", "X7")
async def test_a_program_that_is_not_there_is_named_as_it_is_without_walls(
    asking: TestEngine, project: Path
) -> None:
    (project / "plain.sh").write_text("echo hello\n")
    for program, said in (
        ("./tset.sh", "no such program: ./tset.sh"),
        ("./plain.sh", "not executable: ./plain.sh"),
        ("run-of-nowhere", "command not found: run-of-nowhere"),
    ):
        task = await asking.finished((program,), cwd=str(project))

        assert (task.verdict, task.latest.error) == ("contained", said)


@walled
@pytest.mark.spec("A2")
async def test_what_needs_more_still_waits(asking: TestEngine, project: Path) -> None:
    for line in ("rm -rf made", "curl http://127.0.0.1", "echo x > ../outside", "git commit -m x"):
        task = await asking.submit(line, cwd=str(project))

        assert (task.state, task.verdict) == ("proposed", "ask")


@walled
@pytest.mark.spec("A13")
async def test_a_wrong_verdict_reaches_no_server_and_writes_nothing_outside(
    asking: TestEngine, project: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        (project / "evil.py").write_text(
            "import os, socket\n"
            "for attempt in (\n"
            f"    lambda: socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2),\n"
            "    lambda: open('/usr/written', 'w'),\n"
            "    lambda: open('.git/hooks/pre-commit', 'w'),\n"
            f"    lambda: open('{asking.engine.home.store}'),\n"
            "):\n"
            "    try: attempt()\n"
            "    except OSError as error: print('refused', error)\n"
            "    else: print('PASSED')\n"
            "open('../outside', 'w').write('only the private /tmp has this')\n"
        )
        task = await asking.finished("python3 evil.py", cwd=str(project))
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()

    said = await asking.text(task.id)
    assert task.verdict == "contained"
    assert "PASSED" not in said
    assert [line.split()[0] for line in said.splitlines()] == ["refused"] * 4
    assert (project.parent / "outside").read_text() == "untouched"


@walled
@pytest.mark.spec("A12")
async def test_an_approval_takes_the_walls_away(engine: TestEngine, project: Path) -> None:
    task = await engine.finished(("make",), cwd=str(project))

    assert task.verdict == "contained"
    assert task.approved_by != "judge"
    assert (project / "got").read_text() == "untouched"
    assert ((await engine.get(task.id)).details or {})["sandbox"] is None


@walled
@pytest.mark.spec("A10")
async def test_a_script_may_change_before_it_starts_in_its_sandbox(asking: TestEngine, project: Path) -> None:
    first = await asking.submit("sleep 0.1", cwd=str(project))
    task = await asking.submit(("make",), cwd=str(project), after=(first.id,))
    (project / "Makefile").write_text("all:\n\techo changed > made\n")

    assert (await asking.wait(task.id, timeout=20)).state == "completed"
    assert (project / "made").read_text() == "changed\n"


@walled
@pytest.mark.spec("A13", "A5")
async def test_a_run_that_failed_at_a_wall_says_so_and_one_answer_runs_it_outside(
    asking: TestEngine, project: Path
) -> None:
    (project / "Makefile").write_text("all:\n\techo x > ../outside\n")
    subprocess.run(["chmod", "go-w", str(project.parent)], check=True)
    (project / "net.py").write_text("import urllib.request as r; r.urlopen('http://example.invalid')")
    (project / "write.sh").write_text("echo x > /usr/written-by-a-test")
    for line, wanted in (
        ("python3 net.py", "to need the network"),
        ("sh write.sh", "to write /usr/written-by-a-test"),
    ):
        failed = await asking.finished(line, cwd=str(project))

        assert failed.state == "failed"
        assert f"it seems {wanted}" in (failed.latest.error or "")
        assert f"errands approve {failed.id}" in (failed.latest.error or "")

    (project / "write.sh").write_text("echo x > ../outside")
    again = await asking.approve(failed.id, by="ada", door="terminal")
    done = await asking.wait(again.id, timeout=20)
    assert (done.state, done.approved_by) == ("completed", "ada")
    assert (project.parent / "outside").read_text() == "x\n"
    asked = ((await asking.get(done.id)).details or {})["approvals"]
    assert [(each["state"], each["by"]) for each in asked] == [("granted", "ada")]
    # It stays approved, as long as it is exactly the same.
    third = await asking.restart(done.id)
    assert (await asking.wait(third.id, timeout=20)).approved_by == "ada"
    (project / "write.sh").write_text("echo other")
    fourth = await asking.restart(done.id)
    assert (await asking.wait(fourth.id, timeout=20)).approved_by == "judge"


@walled
async def test_what_did_not_fail_needs_no_answer(asking: TestEngine, project: Path) -> None:
    task = await asking.finished(("make",), cwd=str(project))

    with pytest.raises(IllegalMove, match="no open question"):
        await asking.approve(task.id, by="ada", door="terminal")
    (project / "Makefile").write_text("all:\n\tfalse\n")
    failed = await asking.finished(("make",), cwd=str(project))
    with pytest.raises(NotAPerson):
        await asking.approve(failed.id, by="run x.1", door="agent")


@pytest.mark.spec("A2")
async def test_without_walls_contained_work_waits_and_says_why(
    asking: TestEngine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "_PLACES", ("/nowhere/bwrap",))
    task = await asking.submit(("make",), cwd=str(project))

    assert (task.state, task.verdict) == ("proposed", "ask")
    question = (await asking.get(task.id)).question
    assert question is not None
    assert any("bubblewrap, which is not installed" in each.text for each in question.reasons)


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("mode", "state", "by", "seen"),
    [("careful", "proposed", None, None), ("trusting", "completed", "approval.mode", "untouched")],
)
async def test_the_mode_decides_how_much_starts_at_once(
    own_home: Path, project: Path, mode: str, state: str, by: str | None, seen: str | None
) -> None:
    async with embedded(str(own_home), yes=False, **{"approval.mode": mode}) as engine:
        harmless = await engine.finished("ls", cwd=str(project))
        task = await engine.submit(("make",), cwd=str(project))
        if task.state != "proposed":
            task = await engine.wait(task.id, timeout=20)
        deleting = await engine.submit("rm made", cwd=str(project))

    assert (harmless.state, deleting.state) == ("completed", "proposed")
    assert (task.state, task.approved_by) == (state, by)
    assert seen is None or (project / "got").read_text() == seen


@walled
async def test_a_sandbox_with_a_network_and_a_watched_command_still_ask(
    asking: TestEngine, project: Path
) -> None:
    open_to_all = await asking.submit(("make",), cwd=str(project), sandbox="files")
    closed = await asking.submit(("make",), cwd=str(project), sandbox="network")
    watch = asking.engine.judge(Draft(command="make", cwd=str(project), on="command:make"))

    assert open_to_all.state == "proposed"
    assert (await asking.wait(closed.id, timeout=20)).state == "completed"
    assert watch.verdict == "ask"


@walled
async def test_the_home_directory_is_no_project(asking: TestEngine) -> None:
    task = await asking.submit("make", cwd=os.path.expanduser("~"))

    assert task.state == "proposed"


@walled
def test_whether_there_can_be_walls_is_found_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = str(tmp_path / "walls")
    monkeypatch.setattr(bubblewrap, "_answers", {})
    assert bubblewrap.obstacle(cache) == ""
    monkeypatch.setattr(bubblewrap, "_answers", {})
    monkeypatch.setattr(bubblewrap, "_tried", lambda path: pytest.fail("tried again"))
    assert bubblewrap.obstacle(cache) == ""
    # Another bubblewrap is another question.
    Path(cache).write_text("something else\nno")
    monkeypatch.setattr(bubblewrap, "_answers", {})
    monkeypatch.setattr(bubblewrap, "_tried", lambda path: "no longer")
    assert bubblewrap.obstacle(cache) == "no longer"


@walled
@pytest.mark.spec("O13")
async def test_the_private_home_of_a_project_goes_with_its_last_task(
    asking: TestEngine, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (project / "cache.sh").write_text(
        "mkdir -p ~/cache/deep && echo x > ~/cache/deep/x && chmod -R a-w ~/cache\n"
    )
    first = await asking.finished("sh cache.sh", cwd=str(project))
    second = await asking.finished("sh cache.sh || true", cwd=str(project))
    await asking.finished("touch x", cwd=str(other))
    homes = Path(asking.engine.home.homes)
    kept = [each for each in homes.iterdir() if not (each / "cache").exists()]
    assert len(list(homes.iterdir())) == 2

    await asking.clear(first.id)
    assert len(list(homes.iterdir())) == 2
    await asking.clear(second.id)
    assert list(homes.iterdir()) == kept


@walled
@pytest.mark.spec("O13")
async def test_the_private_home_of_a_project_expires_with_its_last_task(
    asking: TestEngine, project: Path
) -> None:
    await asking.finished(("make",), cwd=str(project))
    homes = Path(asking.engine.home.homes)
    clock = HandClock(datetime.now(UTC))
    janitor = Janitor(asking.engine.store, asking.engine.home, config.load(), clock)
    assert await janitor.sweep() == 0
    assert len(list(homes.iterdir())) == 1

    clock.turn(timedelta(days=8))
    assert await janitor.sweep() == 1
    assert list(homes.iterdir()) == []
    (homes / "left-by-a-crash").mkdir()
    await janitor.sweep_orphans()
    assert list(homes.iterdir()) == []
