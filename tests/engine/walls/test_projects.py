"""Projects: what a sandbox may write to, and what in it stays as it is."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from errands.engine.walls.projects import check_project, programs_below, settings_below
from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.runners.shim.walls import set_aside
from errands.testing.engines import TestEngine
from tests.engine.walls.test_sandbox import walled

pytestmark = pytest.mark.spec("A13")


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "ada"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.mark.parametrize(
    "name",
    [
        ".config", ".config/nvim", ".local", ".local/share/applications", ".oh-my-zsh", "bin",
        ".codex/worktrees", ".ssh/worktrees",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mark", ["", ".git"])
def test_settings_and_programs_in_a_home_are_no_project(person: Path, name: str, mark: str) -> None:
    (person / name / mark).mkdir(parents=True)

    with pytest.raises(BadValue, match="your programs and their settings"):
        check_project(str(person / name), home="")


def test_work_trees_of_agents_are_projects_wherever_they_are(person: Path) -> None:
    for name in ("code/app", ".codex/worktrees/1/app", ".local/share/opencode/worktree/app"):
        (person / name).mkdir(parents=True)
        (person / name / ".git").write_text("gitdir: elsewhere\n")
        check_project(str(person / name), home="")


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "/etc", "/usr", "/usr/local", "/var", "/opt"])
def test_directories_of_the_system_are_no_projects(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    with pytest.raises(BadValue, match="shared"):
        check_project(place, home="")
    for below in ("/etc/cron.d", "/usr/lib/python3", "/var/spool"):
        with pytest.raises(BadValue, match="belongs to the system"):
            check_project(below, home="")


def test_a_directory_of_the_search_path_is_no_project(person: Path) -> None:
    tools = person / "code" / "tools"
    (tools / "scripts").mkdir(parents=True)
    check_project(str(tools), home="", path="/usr/bin")
    assert programs_below(str(tools), f"/usr/bin:{tools}/scripts") == [f"{tools}/scripts"]
    # What a project has for its own work is part of it, and so is what a person marked as a project.
    (tools / ".venv" / "bin").mkdir(parents=True)
    (tools / ".venv" / "pyvenv.cfg").touch()
    assert programs_below(str(tools), f"{tools}/.venv/bin:{tools}/node_modules/.bin:/usr/bin") == []
    (tools / ".git").mkdir()
    assert programs_below(str(tools), f"/usr/bin:{tools}/scripts") == []
    with pytest.raises(BadValue, match="PATH"):
        check_project(str(tools), home="", path=f"/usr/bin:{tools}")


@walled
async def test_work_in_such_a_directory_waits_for_approval(engine: TestEngine, person: Path) -> None:
    (person / ".config" / "autostart").mkdir(parents=True)
    (person / "code").mkdir()
    line = ("python3 setup.py build",)
    asked = engine.engine.judge(Draft(command=line, cwd=str(person / ".config" / "autostart")))
    starts = engine.engine.judge(Draft(command=line, cwd=str(person / "code")))

    assert (asked.verdict, starts.verdict) == ("ask", "contained")
    assert "settings" in asked.reasons[-1].text


@walled
async def test_repositories_and_settings_below_the_top_cannot_be_changed(
    engine: TestEngine, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    for name in ("one", "deep/er/two"):
        subprocess.run(["git", "init", "-q", str(work / name)], check=True)
    (work / "package" / ".vscode").mkdir(parents=True)
    bare = work / "trees" / ".bare"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    (work / "trees" / ".git").write_text("gitdir: ./.bare\n")
    (work / "tools").mkdir()
    environ = {**os.environ, "PATH": f"{os.environ['PATH']}:{work}/tools"}
    places = ("tools", "one/.git/hooks", "deep/er/two/.git", "package/.vscode", "trees/.bare/hooks", "one")
    line = "; ".join(f"echo x > {place}/planted" for place in places)

    line += "; rm -rf one/.git trees/.git"
    task = await engine.finished(line, cwd=str(work), sandbox="files", environ=environ)

    assert [place for place in places if (work / place / "planted").exists()] == ["one"]
    assert (work / "one" / ".git" / "HEAD").exists()
    assert (work / "trees" / ".git").read_text() == "gitdir: ./.bare\n"
    assert task.state == "failed"


REPOSITORY = """mkdir objects refs; echo 'ref: refs/heads/main' > HEAD
printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = .\\n' > config
echo "fsmonitor = \\"touch $PWD/pwned; false\\"" >> config
"""


@walled
async def test_a_run_cannot_turn_its_project_into_a_repository(engine: TestEngine, tmp_path: Path) -> None:
    by_hand, work = tmp_path / "hand", tmp_path / "work"
    for each in (by_hand, work):
        each.mkdir()
        (each / "package.json").write_text("{}")
    subprocess.run(["sh", "-c", REPOSITORY], cwd=by_hand, check=True)
    await engine.finished("mkdir .git", cwd=str(work), sandbox="files")  # which git does not look at
    task = await engine.finished(REPOSITORY, cwd=str(work), sandbox="files")
    for each in (by_hand, work):
        subprocess.run(["git", "status"], cwd=each, capture_output=True, check=False)

    assert (by_hand / "pwned").exists(), "git does not do what this is here for"
    assert task.state == "completed"
    assert (work / "config").exists()
    assert not (work / "pwned").exists()
    assert "HEAD in" in await engine.text(task.id)


@walled
async def test_what_git_is_led_to_by_its_settings_stays_as_it_is(engine: TestEngine, tmp_path: Path) -> None:
    """Hooks and settings that a repository keeps among its own files, there or yet to come."""
    work = tmp_path / "work"
    git = ("git", "-C", str(work))
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    subprocess.run([*git, "config", "core.hooksPath", "tools/hooks"], check=True)
    for path in ("../.gitconfig", "../settings/later", "../missing"):
        subprocess.run([*git, "config", "--add", "include.path", path], check=True)
    (work / "tools" / "hooks").mkdir(parents=True)
    (work / ".gitconfig").touch()
    evil = f'[core]\\nfsmonitor = "touch {work}/pwned; false"\\n'
    lines = [
        "mv tools moved",
        "echo x > tools/hooks/post-index-change",
        "mkdir settings; echo x > tools/mine",
    ]
    lines += [f"printf '{evil}' > {name}" for name in (".gitconfig", "settings/later", "missing")]
    task = await engine.finished("; ".join(lines), cwd=str(work), sandbox="files")
    subprocess.run([*git, "status"], capture_output=True, check=False)

    assert not (work / "pwned").exists()
    assert os.listdir(work / "tools" / "hooks") == []
    assert (work / ".gitconfig").read_text() == ""
    assert (work / "tools" / "mine").exists()
    assert {each.name.partition(".")[0] for each in work.iterdir()} == {"", "missing", "settings", "tools"}
    assert not (work / "missing").exists()
    assert not (work / "settings").exists()
    assert task.state == "completed"


@walled
async def test_a_repository_that_the_top_leads_to_cannot_be_replaced(
    engine: TestEngine, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    bare = work / "deep" / "er" / "bare"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    (work / ".git").write_text("gitdir: ./deep/er/bare\n")
    line = "; ".join(f"mv {name} moved; cp -r moved {name}" for name in ("deep/er/bare", "deep/er", "deep"))
    await engine.finished(
        f"{line}; echo x > deep/er/bare/evil; echo x > deep/mine", cwd=str(work), sandbox="files"
    )

    assert not (bare / "evil").exists()
    assert (bare / "HEAD").exists()
    assert (work / "deep" / "mine").exists()


def test_a_repository_without_a_work_tree_is_no_project(person: Path) -> None:
    bare = person / "code" / "app"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    (bare / "tree").mkdir()
    for each in (bare, bare / "hooks", bare / "tree"):
        with pytest.raises(BadValue, match="git's own"):
            check_project(str(each), home="")
    (bare / "tree" / ".git").write_text("gitdir: ../worktrees/tree")
    check_project(str(bare / "tree"), home="")


@walled
@pytest.mark.spec("A2")
async def test_work_in_another_project_than_the_callers_waits_for_approval(
    engine: TestEngine, tmp_path: Path
) -> None:
    for name in ("mine/sub", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "mine" / ".git").mkdir()

    def verdict(cwd: str, line: str = "make") -> str:
        draft = Draft(command=line, cwd=str(tmp_path / cwd), within=str(tmp_path / "mine" / "sub"))
        return engine.engine.judge(draft).verdict

    assert [verdict("mine"), verdict("mine/sub"), verdict("other")] == ["contained", "contained", "ask"]
    assert verdict("other", "ls") == "auto"


def test_packages_are_not_searched_for_repositories_and_the_nearest_are_found_first(tmp_path: Path) -> None:
    for name in ("a/.git", "b/c/.git", "node_modules/x/.vscode", ".git/modules/.git"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "linked").symlink_to(tmp_path / "a")

    assert [os.path.relpath(each, tmp_path) for each in settings_below(str(tmp_path))] == [
        "a/.git",
        "b/c/.git",
    ]


@walled
async def test_a_service_that_listens_in_the_project_cannot_be_reached(
    engine: TestEngine, tmp_path: Path
) -> None:
    project = tmp_path / "p"
    project.mkdir()
    connect = "import socket; socket.socket(socket.AF_UNIX).connect('s')"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{project}/s")
        server.listen()
        server.setblocking(False)
        task = await engine.finished(f'python3 -c "{connect}"', cwd=str(project), sandbox="files")

        assert task.state == "failed"
        with pytest.raises(BlockingIOError):
            server.accept()
    assert (project / "s").is_socket()


def test_a_directory_that_another_run_has_exchanged_is_left_alone(tmp_path: Path) -> None:
    """A run in a directory above may put a link in its place, and nothing is renamed where that leads."""
    for each in ("mine", "other"):
        (tmp_path / each / "project").mkdir(parents=True)
        (tmp_path / each / "project" / ".mcp.json").write_text("{}")
    walls = {"unprotected": {f"{tmp_path}/mine/project": {".mcp.json": ""}}}
    (tmp_path / "mine").rename(tmp_path / "gone")
    (tmp_path / "mine").symlink_to("other")

    assert set_aside(walls, "x.1") == []
    assert (tmp_path / "other" / "project" / ".mcp.json").exists()

    (tmp_path / "mine").unlink()
    (tmp_path / "gone").rename(tmp_path / "mine")
    assert len(set_aside(walls, "x.1")) == 1
