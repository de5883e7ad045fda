"""The home is private: whatever the umask is, and wherever it is made."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontends.cli.person import COMMAND, Person
from tests.walls import walled

pytestmark = pytest.mark.spec("O12")


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    (tmp_path / "project").mkdir()
    someone = Person(tmp_path / "new" / "state" / "errands", tmp_path / "project")
    yield someone
    someone.leaves()


def test_nothing_is_open_to_others_although_the_umask_is_0(person: Person, tmp_path: Path) -> None:
    words = [*COMMAND, "run", "--yes", "--wait", "touch file; mkdir folder"]
    subprocess.run(words, cwd=person.cwd, env=person.environ, umask=0, check=True, timeout=60)
    made = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    folders = [each for each in made if each.is_dir() and "folder" not in each.parts]

    assert {tmp_path / "new" / "state", person.home, person.home / "runs"} < set(folders)
    assert {stat.S_IMODE(each.stat().st_mode) & 0o077 for each in folders} == {0}
    ours = [each for each in made if each.is_file() and each.name != "file"]
    assert person.home / "errands.db" in ours
    assert [each for each in ours if stat.S_IMODE(each.stat().st_mode) & 0o077] == []


def test_a_home_is_not_made_where_everyone_could_replace_it(person: Person, tmp_path: Path) -> None:
    shared = tmp_path / "new"
    shared.mkdir()
    shared.chmod(0o777)
    said = person.types("run", "true", code=None)

    assert said.code != 0
    assert f"everyone may rename what is in {shared}; run `chmod o-w {shared}`" in said.err
    assert list(shared.iterdir()) == []
    assert f"chmod o-w {shared}" in person.types("doctor", code=None).out

    shared.chmod(0o1777)  # as /tmp: only owners rename what is in it
    person.finishes("true")
    assert stat.S_IMODE(os.stat(shared / "state").st_mode) == 0o700


def test_doctor_warns_of_a_home_that_everyone_could_replace(person: Person, tmp_path: Path) -> None:
    person.finishes("true")
    assert "may rename" not in person.types("doctor", code=None).out

    (tmp_path / "new").chmod(0o777)
    assert f"every user may rename {person.home}" in person.types("doctor", code=None).out


@walled
@pytest.mark.spec("X15", "X21")
def test_doctor_knows_a_read_only_file_system_and_wraps_advice_below_itself(person: Person) -> None:
    person.finishes("true")
    person.types("daemon", "stop")
    walls = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    environ = {**person.environ, "COLUMNS": "60", "FORCE_COLOR": "1"}
    done = subprocess.run([*walls, *COMMAND, "doctor"], env=environ, capture_output=True, text=True)
    lines = re.sub("\x1b\\[[0-9;]*m", "", done.stdout).splitlines()
    place = lines.index("permissions")

    assert done.returncode == 1
    assert "".join(each.replace(" ", "") for each in lines[place + 1 : lines.index("disk")]) == (
        f"✗ the file system of {person.home} is read-only "
        "mount it writable, or set ERRANDS_HOME to a directory of your own"
    ).replace(" ", "")
    assert "  ! not checked, because it cannot be written" in lines, "and not to be repaired"
    advice = lines.index(next(each for each in lines if "mount it writable" in each))
    assert lines[advice + 1].startswith("      ")


@walled
@pytest.mark.spec("X15", "X21")
def test_doctor_advises_no_repair_of_a_store_in_a_directory_that_cannot_be_written(person: Person) -> None:
    person.finishes("true")
    person.types("daemon", "stop")
    person.home.chmod(0o500)
    walls = ("bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--cap-drop", "ALL")
    environ = {**person.environ, "COLUMNS": "200"}
    done = subprocess.run([*walls, *COMMAND, "doctor"], env=environ, capture_output=True, text=True)
    person.home.chmod(0o700)

    assert f"✗ {person.home} is not writable" in done.stdout
    assert "! not checked, because it cannot be written" in done.stdout
    assert "--repair" not in done.stdout
