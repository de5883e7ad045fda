"""The built-in agent reads and writes files of the project, and none beyond it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from errands.agents.builtin.project import Project


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    (place / "secret").write_text("the secret")
    return place


@pytest.fixture
def folder(tmp_path: Path, outside: Path) -> Path:
    """Make a project from which many ways lead out."""
    place = tmp_path / "project"
    (place / "src").mkdir(parents=True)
    (place / "src/main.py").write_text("import this\nprint('hello')\n")
    (place / "away").symlink_to(outside)
    (place / "src/secret").symlink_to(outside / "secret")
    (place / "up").symlink_to("../outside/secret")
    (place / "made").symlink_to(outside / "made")
    (place / "again").symlink_to("src/main.py")
    return place


WAYS_OUT = [
    "../outside/secret",
    "src/../../outside/secret",
    "away/secret",
    "src/secret",
    "up",
    "away/../outside/secret",
    "/etc/passwd",
]


@pytest.mark.spec("R4")
@pytest.mark.parametrize("path", WAYS_OUT)
def test_nothing_outside_is_read(folder: Path, path: str) -> None:
    with pytest.raises(PermissionError, match="not inside the project"):
        Project(str(folder)).read(path)


@pytest.mark.spec("R4")
@pytest.mark.parametrize("path", [*WAYS_OUT, "made", "away/new", "../project-two/new"])
def test_nothing_outside_is_written(folder: Path, outside: Path, path: str) -> None:
    with pytest.raises(PermissionError, match="not inside the project"):
        Project(str(folder)).write(path, "gone")

    assert (outside / "secret").read_text() == "the secret"
    assert sorted(os.listdir(outside)) == ["secret"]
    assert not (folder.parent / "project-two").exists()


@pytest.mark.spec("R4")
def test_a_hard_link_is_cut_not_written_through(folder: Path, outside: Path) -> None:
    (folder / "hard").hardlink_to(outside / "secret")

    Project(str(folder)).write("hard", "mine")

    assert (outside / "secret").read_text() == "the secret"
    assert (folder / "hard").read_text() == "mine"


@pytest.mark.spec("R4")
@pytest.mark.parametrize("path", ["..", "away", "/"])
async def test_nothing_outside_is_listed_or_searched(folder: Path, path: str) -> None:
    project = Project(str(folder))
    with pytest.raises(PermissionError):
        project.entries(path)
    with pytest.raises(PermissionError):
        await project.search("secret", path)

    assert "the secret" not in await project.search("secret")


@pytest.mark.spec("R4")
def test_a_place_that_becomes_a_link_after_the_look_is_not_followed(
    folder: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(str(folder))
    resolve = os.path.realpath

    def swapped(path: str) -> str:
        place = resolve(path)
        (folder / "src").rename(folder / "moved")
        (folder / "src").symlink_to(outside)
        return place

    monkeypatch.setattr(os.path, "realpath", swapped)
    with pytest.raises(NotADirectoryError):
        project.write("src/secret-plan", "gone")
    assert sorted(os.listdir(outside)) == ["secret"]


def test_links_inside_are_followed(folder: Path) -> None:
    assert Project(str(folder)).read("again") == "import this\nprint('hello')\n"


def test_the_project_may_itself_be_a_link(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)

    assert Project(str(folder.parent / "link")).read("src/main.py").startswith("import this")


def test_what_is_not_a_file_is_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")

    for name in ("pipe", "src", "."):
        with pytest.raises(OSError, match="is not a file"):
            Project(str(folder)).read(name)


def test_a_long_file_is_read_in_pieces(folder: Path) -> None:
    (folder / "long").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    project = Project(str(folder))

    assert project.read("long", start=99) == "line 99\nline 100\n"
    piece = project.read("long", start=11, lines=2)
    assert piece == "line 11\nline 12\n\n[lines 11 to 12 of 100; read on with start=13]"


def test_a_written_file_keeps_its_permissions(folder: Path) -> None:
    (folder / "tool.sh").write_text("old")
    (folder / "tool.sh").chmod(0o750)
    project = Project(str(folder))

    assert project.write("tool.sh", "new") == "replaced tool.sh, 3 bytes"
    assert project.write("a/b/c.txt", "é") == "made a/b/c.txt, 2 bytes"

    assert (folder / "tool.sh").stat().st_mode & 0o777 == 0o750
    assert (folder / "a/b/c.txt").read_text() == "é"
    assert sorted(os.listdir(folder / "a/b")) == ["c.txt"]


async def test_files_are_listed_and_searched(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("hello")
    (folder / "blob").write_bytes(b"\0hello")
    project = Project(str(folder))

    assert project.entries(".").splitlines() == [".git/", "again", "away", "blob", "made", "src/", "up"]
    assert await project.search("hello") == "src/main.py:2: print('hello')"
    assert await project.search("hello", "src", names="*.txt") == "[nothing found in 0 files]"


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    "name", [".env", ".env.production", "config/database.yml", ".dev.vars", ".claude/x.md", "id_rsa"]
)
async def test_a_file_with_secrets_is_neither_read_nor_searched(tmp_path: Path, name: str) -> None:
    project = Project(str(tmp_path))
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("KEY=needle\n")
    (tmp_path / "notes.txt").symlink_to(name)
    (tmp_path / "main.py").write_text("# needle\n")

    for path in (name, "notes.txt", f"./{name}"):
        with pytest.raises(PermissionError, match="may hold secrets"):
            project.read(path)
    assert await project.search("needle") == "main.py:1: # needle"
    assert project.read("main.py") == "# needle\n"
