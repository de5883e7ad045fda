"""What another run exchanges in a project while a sandbox is built: it must not show anything else."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from errands.engine.walls import mounts
from errands.engine.walls.bubblewrap import _binds_descriptors, bubblewrap
from errands.engine.walls.sandbox import sandboxed
from errands.model.action import Sandbox
from errands.ports.home import Home
from errands.ports.runner import Launch
from errands.runners.shim.walls import enclosed
from errands.runners.shim.wire import start_message
from tests.walls import walled

old = not (shutil.which("bwrap") and _binds_descriptors(bubblewrap()))
pytestmark = [walled, pytest.mark.spec("A13"), pytest.mark.skipif(old, reason="bubblewrap is too old")]
SECRET = "swordfish"


@pytest.fixture
def place() -> Iterator[Path]:
    """A home and a project with settings below the top; not in /tmp, which is empty in a sandbox."""
    place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    for each in ("home/.claude", "home/.git", "project/inner/.claude", "project/inner/.git", "run"):
        (place / each).mkdir(parents=True)
    for name in (".claude", ".git"):
        (place / "home" / name / "token").write_text(SECRET)
    subprocess.run(["git", "init", "-q", place / "project"], check=True)
    yield place
    shutil.rmtree(place)


def walls_of(place: Path, project: Path) -> Mapping[str, Any]:
    launch = Launch(
        run_id="x.1", attempt=1, directory=str(place / "run"), header=b"", steps=(), cwd=str(project), cap=1,
        grace=1.0, base={"PATH": "/usr/bin:/bin", "HOME": str(place / "home")}, env={},
    )  # fmt: skip
    sandbox = Sandbox(writable=(str(project),), network=False)
    walls: Mapping[str, Any] = start_message(sandboxed(launch, sandbox, Home(path=str(place / "e"))))["walls"]
    return walls


def run(argv: list[str], files: list[int]) -> str:
    done = subprocess.run(argv, pass_fds=files, env={}, capture_output=True, text=True, check=False)
    for each in files:
        os.close(each)
    return done.stdout


def exchange(directory: Path, home: Path, *, link: str) -> None:
    """Put a link to a home in the place of a directory, which goes on to exist beside it."""
    directory.rename(directory.with_name("beside"))
    directory.symlink_to(home if link == "absolute" else os.path.relpath(home, directory.parent))


@pytest.mark.parametrize("link", ["absolute", "relative"])
def test_a_link_that_appears_before_the_start_is_not_followed(place: Path, link: str) -> None:
    walls = walls_of(place, place / "project")
    exchange(place / "project/inner", place / "home", link=link)

    with pytest.raises(OSError, match="changed while the sandbox was built"):
        enclosed(walls, ["true"], {"PATH": "/usr/bin"})


@pytest.mark.parametrize("link", ["absolute", "relative"])
def test_a_link_that_appears_during_the_start_shows_nothing(place: Path, link: str) -> None:
    walls = walls_of(place, place / "project")
    words = ["sh", "-c", "cat inner/.claude/token inner/.git/token beside/.claude/token; echo done"]
    before = run(*enclosed(walls, words, {"PATH": "/usr/bin"}))
    argv, files = enclosed(walls, words, {"PATH": "/usr/bin"})
    exchange(place / "project/inner", place / "home", link=link)

    assert before == "done\n"
    assert SECRET not in run(argv, files)


def test_a_project_in_a_project_that_becomes_a_link_is_not_written_to(place: Path) -> None:
    inner = place / "project/inner"
    argv, files = enclosed(walls_of(place, inner), ["touch", f"{inner}/made"], {"PATH": "/usr/bin"})
    exchange(inner, place / "home", link="relative")

    run(argv, files)

    assert not (place / "home/made").exists()


def test_an_interpreter_that_a_run_chose_shows_no_more_than_programs(place: Path) -> None:
    for each in ("other/bin", "other/lib", "project/.venv/bin"):
        (place / each).mkdir(parents=True)
    (place / "other/bin/python3").touch()
    (place / "project/.venv/pyvenv.cfg").touch()
    (place / "project/.venv/lib").mkdir()
    (place / "project/.venv/bin/python").symlink_to(place / "other/bin/python3")
    project = str(place / "project")

    words = mounts.mounts(
        {project: project}, person=str(place / "home"), tools=(), path="/usr/bin", store=str(place / "e"),
        own=(), network=False,
    )  # fmt: skip

    assert {f"{place}/other/bin", f"{place}/other/lib"} <= {*words}
    assert f"{place}/other" not in words
