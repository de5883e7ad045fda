"""Programs and projects are found as they are on this machine, with doubts where they are due."""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
from pathlib import Path

import pytest

from errands.judge.evidence import local_workspace
from errands.judge.evidence.evidence import DEFAULT_PATH
from errands.judge.evidence.local_workspace import LocalWorkspace, trusted_path
from errands.judge.judge import judge
from errands.judge.workspace import FoundProgram

pytestmark = [pytest.mark.spec("A2", "A3")]


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_program_of_the_system_is_trusted(tmp_path: Path) -> None:
    found = LocalWorkspace(str(tmp_path), {"PATH": "/usr/bin:/bin"}).program("ls")

    assert found.doubt == ""
    assert found.path.endswith("/ls")


def test_a_program_that_does_not_exist_is_not_a_doubt(tmp_path: Path) -> None:
    assert LocalWorkspace(str(tmp_path), {"PATH": "/usr/bin"}).program("no-such-program") == FoundProgram()


def test_a_program_in_the_project_is_not_trusted(tmp_path: Path) -> None:
    executable(tmp_path / "bin/git")
    here = LocalWorkspace(str(tmp_path), {"PATH": f"{tmp_path}/bin:/usr/bin"}, project=str(tmp_path))

    assert "is inside the project" in here.program("git").doubt
    assert not here.program("git").own


def test_a_link_out_of_the_system_is_followed(tmp_path: Path) -> None:
    target = executable(tmp_path / "project/git")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(target)
    here = LocalWorkspace(str(tmp_path), {"PATH": f"{tmp_path}/bin"}, project=str(tmp_path / "project"))

    assert here.program("git").doubt


@pytest.mark.parametrize("project", ["project", "elsewhere"])
def test_a_virtual_environment_is_the_persons_own(tmp_path: Path, project: str) -> None:
    program = executable(tmp_path / "project/.venv/bin/pytest")
    (tmp_path / "project/.venv/pyvenv.cfg").write_text("")
    here = LocalWorkspace(str(tmp_path), {"PATH": str(program.parent)}, project=str(tmp_path / project))

    assert here.program("pytest").doubt
    assert here.program("pytest").own


def test_a_virtual_environment_that_everyone_may_write_to_is_not_trusted(tmp_path: Path) -> None:
    program = executable(tmp_path / ".venv/bin/pytest")
    program.parent.chmod(0o777)
    (tmp_path / ".venv/pyvenv.cfg").write_text("")

    for path in (str(program.parent), ".venv/bin"):
        found = LocalWorkspace(str(tmp_path), {"PATH": path}, project=str(tmp_path)).program("pytest")
        assert found.doubt
        assert not found.own


@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_a_relative_search_path_is_not_trusted(tmp_path: Path, entry: str) -> None:
    executable(tmp_path / entry / "git")
    here = LocalWorkspace(str(tmp_path), {"PATH": f"{entry}:/usr/bin"}, project="/nowhere")

    assert "not absolute" in here.program("git").doubt


def test_a_directory_that_everyone_may_write_to_is_not_trusted(tmp_path: Path) -> None:
    program = executable(tmp_path / "bin/git")
    program.parent.chmod(0o777)
    assert stat.S_IMODE(program.parent.stat().st_mode) == 0o777
    here = LocalWorkspace(str(tmp_path), {"PATH": str(program.parent)}, project="/nowhere")

    assert here.program("git").doubt


def test_without_a_repository_the_project_is_the_nearest_marked_directory(tmp_path: Path) -> None:
    (tmp_path / "one/two/three").mkdir(parents=True)
    (tmp_path / "one/pyproject.toml").write_text("")
    (tmp_path / "one/two/package.json").write_text("{}")

    assert LocalWorkspace(str(tmp_path / "one/two/three"), {}).project == str(tmp_path / "one/two")


def test_a_home_is_never_the_project_of_what_is_inside_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "notes").mkdir()

    assert LocalWorkspace(str(tmp_path / "notes"), {"HOME": str(tmp_path)}).project == str(tmp_path / "notes")
    assert LocalWorkspace(str(tmp_path), {"HOME": str(tmp_path)}).project == str(tmp_path)


def marking(place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("#!/bin/sh\ntouch ran\n")
    place.chmod(0o755)
    return place


@pytest.mark.spec("A2")
def test_a_shell_is_trusted_by_its_whole_path(tmp_path: Path) -> None:
    """The name of the shell is `bash`, and yet it runs something else."""
    shell = marking(tmp_path / "bin/bash")
    subprocess.run([str(shell), "-c", "ls"], cwd=tmp_path, check=True)
    forged = LocalWorkspace(str(tmp_path), {}, shell=str(shell))

    assert (tmp_path / "ran").exists()
    assert judge(("ls",), forged).verdict != "auto"
    assert judge((("ls",),), forged).verdict == "auto"  # no shell reads it
    assert judge(("ls",), LocalWorkspace(str(tmp_path), {}, shell="/bin/bash")).verdict == "auto"
    assert judge(("ls",), LocalWorkspace(str(tmp_path), {}, shell="bin/bash")).verdict != "auto"


@pytest.mark.spec("A2")
def test_a_home_that_a_caller_made_up_is_not_loaded_from(tmp_path: Path) -> None:
    (tmp_path / ".jq").write_text('def length: "forged";')
    said = subprocess.run(
        ["jq", "-n", "[1]|length"], env={"HOME": str(tmp_path)}, capture_output=True, text=True
    )
    forged = LocalWorkspace(str(tmp_path), {"HOME": str(tmp_path)})
    own = LocalWorkspace(str(tmp_path), {"HOME": pwd.getpwuid(os.geteuid()).pw_dir})

    assert said.stdout == '"forged"\n'
    assert judge(("jq -n 1",), forged).verdict != "auto"
    assert judge(("pip list",), forged).verdict != "auto"
    assert judge(("jq -n 1",), own).verdict == "auto"


@pytest.mark.spec("A2")
def test_a_program_from_another_work_tree_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_workspace, "TEMPORARY", ())
    there = marking(tmp_path / "other/bin/ls")
    (tmp_path / "here").mkdir()
    path = {"PATH": f"{there.parent}:/usr/bin", "HOME": str(tmp_path)}
    before = judge(("ls",), LocalWorkspace(str(tmp_path / "here"), path)).verdict
    (tmp_path / "other/.git").mkdir()
    hidden = marking(tmp_path / ".tool/bin/ls")
    (tmp_path / ".tool/.git").mkdir()

    assert before == "auto"
    assert judge(("ls",), LocalWorkspace(str(tmp_path / "here"), path)).verdict != "auto"
    path["PATH"] = f"{hidden.parent}:/usr/bin"
    assert judge(("ls",), LocalWorkspace(str(tmp_path / "here"), path)).verdict == "auto"


@pytest.mark.spec("A2")
def test_settings_that_a_caller_made_up_are_not_loaded_from(tmp_path: Path) -> None:
    """A `pip.conf` can name the interpreter that pip starts, and a `.manpath` what renders a page."""
    home = pwd.getpwuid(os.geteuid()).pw_dir
    forged = LocalWorkspace(str(tmp_path), {"HOME": home, "XDG_CONFIG_HOME": str(tmp_path)})
    elsewhere = LocalWorkspace(str(tmp_path), {"HOME": str(tmp_path)})

    assert judge(("pip list",), forged).verdict != "auto"
    assert judge(("man ls",), elsewhere).verdict != "auto"
    assert judge(("man ls",), LocalWorkspace(str(tmp_path), {"HOME": home})).verdict == "auto"


@pytest.mark.spec("A2")
def test_a_project_among_the_systems_directories_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_workspace, "TEMPORARY", ())
    monkeypatch.setattr(local_workspace, "_SYSTEM", (str(tmp_path), "/usr", "/bin"))
    program = marking(tmp_path / "app/bin/ls")
    path = {"PATH": f"{program.parent}:/usr/bin"}

    assert judge(("ls",), LocalWorkspace("/", path)).verdict == "auto"
    assert judge(("ls",), LocalWorkspace(str(tmp_path / "app"), path)).verdict != "auto"
    assert judge(("ls",), LocalWorkspace("/usr", {"PATH": "/usr/bin"})).verdict == "auto"


@pytest.mark.spec("A2")
def test_a_search_path_keeps_the_directories_of_trusted_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_workspace, "TEMPORARY", (str(tmp_path / "tmp"),))
    names = (
        "project/bin",
        "tmp/bin",
        "other/bin",
        "tools/bin",
        "open/bin",
        "errands/homes/x/bin",
        ".own/bin",
    )
    places = {name: tmp_path / name for name in names}
    for place in places.values():
        place.mkdir(parents=True)
    (tmp_path / "other/package.json").touch()
    places["open/bin"].chmod(0o777)
    (tmp_path / "link").symlink_to(places["project/bin"])
    entries = [*map(str, places.values()), str(tmp_path / "link"), "bin", "", "/usr/bin", "/nowhere/bin"]
    environment = {"PATH": ":".join(entries), "HOME": str(tmp_path)}
    kept = trusted_path(str(tmp_path / "project"), environment, distrusted=str(tmp_path / "errands"))

    assert kept.split(":") == [str(places["tools/bin"]), str(places[".own/bin"]), "/usr/bin"]
    assert trusted_path("/", {"PATH": "bin"}, distrusted="/nowhere") == DEFAULT_PATH


@pytest.mark.parametrize(
    ("variables", "is_plain"),
    [
        ({"HOME": "/home/ada"}, True),
        ({}, False),
        ({"HOME": ""}, False),
        ({"HOME": "/home/ada and bob"}, False),
        ({"HOME": "/home/*"}, False),
        ({"HOME": "home"}, False),
        ({"HOME": "/home/a\n"}, False),
    ],
)
def test_only_a_home_that_no_shell_splits_or_expands_is_plain(
    tmp_path: Path, variables: dict[str, str], is_plain: bool
) -> None:
    assert LocalWorkspace(str(tmp_path), variables).is_home_plain is is_plain
