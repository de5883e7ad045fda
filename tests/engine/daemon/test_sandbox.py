"""The sandbox: what a task can write and see inside it, tested with the real walls."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from errands.engine.daemon import sandbox
from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.testing.engines import TestEngine, until


def _can_enclose() -> bool:
    try:
        words = (sandbox.bubblewrap(), "--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "true")
    except BadValue:
        return False
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


walled = pytest.mark.skipif(not _can_enclose(), reason="bubblewrap is missing, or may not build walls here")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a subdirectory, and a file outside it."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (tmp_path / "outside").write_text("untouched")
    return project


@walled
async def test_a_sandboxed_task_writes_only_to_its_project_and_its_run_directory(
    engine: TestEngine, project: Path
) -> None:
    outside = project.parent / "outside"
    task = await engine.finished(
        f"echo built > ../made; echo report > $ERRANDS_RUN_DIR/report; echo x > {outside}; echo y > /etc/y",
        cwd=str(project / "src"),
        sandbox="files",
    )

    assert (project / "made").read_text() == "built\n"
    assert "report" in ((await engine.get(task.id)).details or {})["files"]
    assert outside.read_text() == "untouched"
    assert not os.path.exists("/etc/y")
    assert "/etc/y: Read-only file system" in await engine.text(task.id)
    assert task.state == "failed"


@walled
async def test_secrets_and_the_store_are_hidden(
    engine: TestEngine, project: Path, request: pytest.FixtureRequest
) -> None:
    # Not below /tmp, which is empty inside the sandbox anyway.
    home = Path(tempfile.mkdtemp(dir="/var/tmp"))
    request.addfinalizer(lambda: shutil.rmtree(home))
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("very secret")
    (home / ".netrc").write_text("very secret")
    (home / ".profile").write_text("harmless")
    environ = {**os.environ, "HOME": str(home)}
    task = await engine.finished(
        f"cat ~/.profile; cat ~/.netrc ~/.ssh/id_rsa; ls {engine.engine.home.path}; true",
        cwd=str(project),
        sandbox="files",
        environ=environ,
    )

    said = await engine.text(task.id)
    assert said.startswith("harmless")
    assert "very secret" not in said
    assert "errands.db" not in said


@walled
@pytest.mark.parametrize(("walls", "reached"), [("files", True), ("network", False)])
async def test_the_network_is_available_unless_it_is_walled_off(
    engine: TestEngine, project: Path, walls: str, reached: bool
) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        task = await engine.finished(f"exec 3<>/dev/tcp/127.0.0.1/{port}", cwd=str(project), sandbox=walls)

    assert (task.state == "completed") is reached


@walled
async def test_the_exit_code_is_the_tasks_own_and_no_process_is_left_behind(
    engine: TestEngine, project: Path
) -> None:
    task = await engine.finished("sleep 987 & exit 7", cwd=str(project), sandbox="files")

    assert task.latest.exit_code == 7
    assert subprocess.run(["pgrep", "-f", "sleep 987"], capture_output=True, check=False).returncode == 1


@walled
async def test_a_cancelled_task_has_its_grace_period_inside(engine: TestEngine, project: Path) -> None:
    line = "trap 'echo tidied > tidied; exit 0' TERM; echo ready > ready; while :; do sleep 0.05; done"
    task = await engine.submit(line, cwd=str(project), sandbox="files")
    await until(lambda: (project / "ready").exists())
    await engine.cancel(task.id)

    assert (await engine.wait(task.id, timeout=20)).state == "cancelled"
    assert (project / "tidied").read_text() == "tidied\n"


@walled
@pytest.mark.spec("A10")
async def test_the_walls_are_part_of_the_approval(engine: TestEngine, project: Path) -> None:
    drafts = [Draft(command=("make",), cwd=str(project), sandbox=walls) for walls in ("files", "network")]
    drafts.append(Draft(command=("make",), cwd=str(project)))
    tasks = [engine.engine.submit(each) for each in drafts]
    shown = [(await engine.get(task.id)).details or {} for task in tasks]

    assert len({each["digest"] for each in shown}) == 3
    assert [each["sandbox"] and each["sandbox"]["network"] for each in shown] == [True, False, None]


async def test_without_bubblewrap_nothing_starts(
    engine: TestEngine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_PLACES", ("/nowhere/bwrap",))

    with pytest.raises(BadValue, match="apt-get install bubblewrap"):
        await engine.submit("true", cwd=str(project), sandbox="files")
    assert await engine.list() == []
