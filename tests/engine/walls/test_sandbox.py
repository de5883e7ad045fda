"""The sandbox: what a task can write and see inside it, tested with the real walls."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest

from errands.engine.walls import bubblewrap as finding
from errands.engine.walls import mounts
from errands.engine.walls.sandbox import sandboxed
from errands.model.action import Sandbox
from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.runner import Launch
from errands.runners.shim.walls import enclosed
from errands.runners.shim.wire import start_message
from errands.testing.engines import TestEngine, until


def _can_enclose() -> bool:
    try:
        words = (finding.bubblewrap(), "--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "true")
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
    assert "files/report" in ((await engine.get(task.id)).details or {})["files"]
    assert outside.read_text() == "untouched"
    assert not os.path.exists("/etc/y")
    assert "/etc/y: Read-only file system" in await engine.text(task.id)
    assert task.state == "failed"


@walled
async def test_secrets_and_the_store_are_absent_whatever_home_says(
    engine: TestEngine, project: Path, request: pytest.FixtureRequest
) -> None:
    # Not below /tmp, which is empty inside the sandbox anyway.
    home = Path(tempfile.mkdtemp(dir="/var/tmp"))
    request.addfinalizer(lambda: shutil.rmtree(home))
    for name in (".ssh", ".cargo", ".local/bin", ".local/lib", ".local/share/opencode"):
        (home / name).mkdir(parents=True)
    for name in (".ssh/id_rsa", ".netrc", ".local/share/opencode/auth.json"):
        (home / name).write_text("very secret")
    (home / ".cargo" / "bin").symlink_to(home / ".ssh")
    (home / ".local" / "bin" / "mytool").write_text("#!/bin/sh\necho harmless\n")
    (home / ".local" / "bin" / "mytool").chmod(0o755)
    (home / ".gitconfig").write_text("[http]\n\textraHeader = Authorization: very secret\n")
    files = (".gitconfig", ".netrc", ".ssh/id_rsa", ".cargo/bin/id_rsa", ".local/share/opencode/auth.json")
    seen = f"cat {' '.join(f'{home}/{each}' for each in files)}; ls {engine.engine.home.path}; mytool"
    for variables in (
        {"HOME": str(home), "PATH": f"{home}/.ssh:{home}/.local/bin:{os.environ['PATH']}"},
        {"HOME": "/nowhere", "PATH": f"{home}/.local/bin:{os.environ['PATH']}"},
    ):
        task = await engine.finished(
            seen, cwd=str(project), sandbox="files", environ={**os.environ, **variables}
        )

        said = await engine.text(task.id)
        assert said.endswith("harmless\n")
        assert "very secret" not in said
        assert "errands.db" not in said


@walled
async def test_the_tools_and_caches_of_a_project_stay_in_its_private_home(
    engine: TestEngine, project: Path
) -> None:
    first = await engine.finished(
        "mkdir -p ~/.cache; echo warm > ~/.cache/x", cwd=str(project), sandbox="files"
    )
    again = await engine.finished("cat ~/.cache/x", cwd=str(project / "src"), sandbox="files")
    other = project.parent / "other"
    other.mkdir()
    elsewhere = await engine.finished("cat ~/.cache/x", cwd=str(other), sandbox="files")

    assert first.state == again.state == "completed"
    assert await engine.text(again.id) == "warm\n"
    assert elsewhere.state == "failed"


@walled
async def test_a_link_in_the_private_home_leads_nobody_outside(engine: TestEngine, project: Path) -> None:
    victim, tools = project.parent / "victim", project.parent / "person"
    victim.mkdir()
    (tools / ".cargo" / "registry").mkdir(parents=True)
    environ = {**os.environ, "HOME": str(tools)}
    line = f"rm -rf ~/.cargo; ln -s {victim} ~/.cargo"
    for each in (line, "true"):
        done = await engine.finished(each, cwd=str(project), sandbox="files", environ=environ)
        assert done.state == "completed"

    assert list(victim.iterdir()) == []


@walled
async def test_root_has_no_capabilities_inside(engine: TestEngine, project: Path) -> None:
    line = (
        "grep Cap /proc/self/status; echo x > /proc/sys/kernel/core_pattern; "
        "cat /etc/shadow; mount -t tmpfs x /mnt"
    )
    task = await engine.finished(line, cwd=str(project), sandbox="files")

    said = await engine.text(task.id)
    assert "CapEff:\t0000000000000000" in said
    assert "CapBnd:\t0000000000000000" in said
    assert task.state == "failed"
    assert "root:" not in said
    assert Path("/proc/sys/kernel/core_pattern").read_text() != "x\n"


@walled
async def test_sockets_of_the_host_cannot_be_reached(
    engine: TestEngine, project: Path, request: pytest.FixtureRequest
) -> None:
    import socket

    writable = [each for each in ("/run", "/var/tmp", "/opt") if os.access(each, os.W_OK)]
    places = [Path(tempfile.mkdtemp(dir=each)) for each in writable]
    connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    line = "".join(f"python3 -c '{connect}' {place}/s || true; " for place in places)
    for place in places:
        request.addfinalizer(partial(shutil.rmtree, place))
        server = socket.socket(socket.AF_UNIX)
        request.addfinalizer(server.close)
        server.bind(f"{place}/s")
        server.listen()
        server.setblocking(False)
        task = await engine.finished(line, cwd=str(project), sandbox="files")

        assert (await engine.text(task.id)).count("Error") >= len(places)
        with pytest.raises(BlockingIOError):
            server.accept()


@walled
async def test_what_decides_about_programs_outside_cannot_be_written(
    engine: TestEngine, project: Path
) -> None:
    (project / ".claude").mkdir()
    (project / ".devcontainer").mkdir()
    before = (project / ".git" / "config").read_text()
    line = (
        "echo x > .git/hooks/pre-commit; echo x >> .git/config; rm -rf .git; mv .git elsewhere; "
        "echo x > .claude/settings.json; echo '{}' > .mcp.json; ln -s . .vscode; echo fine > made; "
        "echo x > .devcontainer/a; echo x > .aider.conf.yml; git status"
    )
    task = await engine.finished(line, cwd=str(project), sandbox="files")

    assert task.state == "completed"
    assert (project / ".git" / "config").read_text() == before
    assert not (project / ".git" / "hooks" / "pre-commit").exists()
    assert list((project / ".claude").iterdir()) == list((project / ".devcontainer").iterdir()) == []
    # What cannot be protected, because it is missing, is set aside when the run is over.
    assert not os.path.lexists(project / ".mcp.json")
    assert not os.path.lexists(project / ".vscode")
    assert not os.path.lexists(project / ".aider.conf.yml")
    (aside,) = project.glob(f".mcp.json.{task.latest.id}.*")
    assert aside.read_text() == "{}\n"
    assert "what this run made there is now .mcp.json." in await engine.text(task.id)
    assert (project / "made").read_text() == "fine\n"


@walled
async def test_git_works_in_a_linked_work_tree(engine: TestEngine, project: Path) -> None:
    made = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(project)]
    subprocess.run([*made, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*made, "worktree", "add", "-q", str(project.parent / "tree")], check=True)
    line = "git log --format=%s; echo x > ../project/.git/config"
    task = await engine.finished(line, cwd=str(project.parent / "tree"), sandbox="files")

    assert (await engine.text(task.id)).startswith("first\n")
    assert task.state == "failed"
    assert "[core]" in (project / ".git" / "config").read_text()


@walled
async def test_variables_and_arguments_of_the_walls_are_not_readable_inside(
    engine: TestEngine, project: Path
) -> None:
    absent = {"MY_API_TOKEN": "x", "SSH_AUTH_SOCK": "/x", "CACHE": "redis://:p@h", "MYSQL_PWD": "pa55-all"}
    task = await engine.finished(
        "cat /proc/1/environ /proc/1/cmdline | tr '\\0' '\\n'; env",
        cwd=str(project),
        sandbox="files",
        environ={**os.environ, **absent, "PLAIN": "http://seen:80/@"},
        env={"ADDED_TOKEN": "on-purpose"},
    )

    said = await engine.text(task.id)
    assert [name for name in absent if f"{name}=" in said] == []
    assert "--ro-bind" not in said
    assert "PLAIN=http://seen" in said
    assert "ADDED_TOKEN=on-purpose" in said


@walled
async def test_variables_do_not_reach_the_program_that_builds_the_walls(
    engine: TestEngine, project: Path
) -> None:
    source = (
        '#include <stdlib.h>\n__attribute__((constructor)) void f(void) { if (!access("%s", 0)) abort(); }'
    )
    outside = project.parent / "outside"
    (project / "evil.c").write_text("#include <unistd.h>\n" + source % outside)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "evil.so", "evil.c"], cwd=project, check=True)
    task = await engine.finished(
        "echo inside", cwd=str(project), sandbox="files", env={"LD_PRELOAD": str(project / "evil.so")}
    )

    assert task.state == "completed"
    assert await engine.text(task.id) == "inside\n"


@walled
async def test_more_than_a_project_is_never_writable(engine: TestEngine) -> None:
    for place in ("/", os.path.expanduser("~"), engine.engine.home.path):
        with pytest.raises(BadValue, match="sandbox"):
            await engine.submit("true", cwd=place, sandbox="files")
    assert await engine.list() == []


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
    monkeypatch.setattr(finding, "_PLACES", ("/nowhere/bwrap",))

    with pytest.raises(BadValue, match="apt-get install bubblewrap"):
        await engine.submit("true", cwd=str(project), sandbox="files")
    assert await engine.list() == []


@walled
async def test_a_protected_name_that_is_a_link_is_protected_where_it_leads(
    engine: TestEngine, project: Path
) -> None:
    (project / "settings").mkdir()
    (project / "settings" / "settings.json").write_text("{}")
    (project / ".claude").symlink_to("settings")

    await engine.finished("echo x > settings/settings.json; true", cwd=str(project), sandbox="files")

    assert (project / "settings" / "settings.json").read_text() == "{}"


@walled
async def test_a_run_cannot_keep_what_it_made_from_being_renamed(engine: TestEngine, project: Path) -> None:
    taken = '".claude.$ERRANDS_RUN_ID"'
    line = f"mkdir -p .claude .vscode {taken} && touch .claude/a .vscode/a {taken}/b"
    task = await engine.finished(line, cwd=str(project), sandbox="files")

    assert task.state == "completed"
    assert not os.path.lexists(project / ".claude")
    assert not os.path.lexists(project / ".vscode")


@walled
@pytest.mark.spec("A13")
@pytest.mark.parametrize("place", ["a project", "the system"])
def test_what_vanishes_before_the_walls_are_built_does_no_harm(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A socket is hidden behind a mount, for which bubblewrap would make a file if it is gone by then."""
    gone = project / "gone.sock" if place == "a project" else Path("/usr/gone.sock")
    there = project / "there.sock"
    there.touch()
    monkeypatch.setattr(mounts, "_sockets_in", lambda mounted: [str(gone), str(there)])
    launch = Launch(
        run_id="x.1", attempt=1, directory=str(tmp_path / "run"), header=b"", steps=(), cwd=str(project),
        cap=1, grace=1.0, base={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, env={},
    )  # fmt: skip
    os.mkdir(launch.directory)
    home = Home(path=str(tmp_path / "errands"))
    message = start_message(sandboxed(launch, Sandbox(writable=(str(project),), network=False), home))

    argv, files = enclosed(message["walls"], ["test", "-c", str(there)], launch.base)
    done = subprocess.run(argv, pass_fds=files, env={}, capture_output=True, text=True, check=False)
    for each in files:
        os.close(each)

    assert (done.returncode, done.stderr) == (0, "")
    assert not os.path.lexists(gone)


@walled
async def test_the_store_is_hidden_in_a_project_that_is_named_by_a_link(
    engine: TestEngine, home: Home, tmp_path: Path
) -> None:
    above, name = Path(home.path).parent, Path(home.path).name
    link = tmp_path / "link"
    link.symlink_to(above)

    task = await engine.finished(f"ls {name}; touch {name}/planted", cwd=str(link), sandbox="files")

    assert "errands.db" not in await engine.text(task.id)
    assert not (Path(home.path) / "planted").exists()


@walled
async def test_a_forged_work_tree_or_environment_shows_nothing_else(
    engine: TestEngine, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / "src").mkdir(parents=True)
    (other / "src" / "main.py").write_text("")
    (other / "secret").write_text("swordfish")
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    (other / ".git" / "note").write_text("swordfish")
    inner = project / "inner"
    (inner / ".venv" / "bin").mkdir(parents=True)
    (inner / ".venv" / "lib").mkdir()
    (inner / ".venv" / "pyvenv.cfg").touch()
    (inner / ".venv" / "bin" / "python").symlink_to(other / "src" / "main.py")
    (inner / ".git").write_text(f"gitdir: {other / '.git'}\n")

    task = await engine.finished(f"cat {other}/secret {other}/.git/note", cwd=str(inner), sandbox="files")

    assert "swordfish" not in await engine.text(task.id)
