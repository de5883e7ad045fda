"""A process inside a run cannot consent, however deep it is, and whatever it ends, leaves or hides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from errands.engine.actor import enclosing_run
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.testing.engines import TestEngine

pytestmark = [pytest.mark.spec("A8"), pytest.mark.trap(8)]

APPROVE = """
import os, sys
from errands.bootstrap import open_engine
from errands.model.errors import NotAPerson
os.environ["ERRANDS_HOME"], task = sys.argv[1:]
try:
    open_engine().approve(task, by="ada", door="terminal")
except NotAPerson as error:
    print("refused", error)
else:
    print("approved")
"""
# A shell that starts a shell, and so on, until the last one runs what it was given.
DEEP = """
left=$1; shift
if [ "$left" -gt 0 ]; then sh "$0" $((left - 1)) "$@"; else "$@"; fi
"""
# Its parent is killed at the moment when it is looked at.
ORPHANED = f"""
import os, signal
from errands.engine import actor
ended, still_open = os.pipe()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork():
    os.close(still_open)
    os.read(ended, 1)
    os._exit(0)
if os.fork():
    signal.pause()
parent, read = os.getppid(), actor._read
def killing(pid, name):
    if pid == parent == os.getppid():
        os.kill(parent, signal.SIGKILL)
        while os.path.exists(f"/proc/{{parent}}"):
            pass
    return read(pid, name)
actor._read = killing
{APPROVE}
"""


class Attacker:
    """Tries to approve a proposed task from inside a run."""

    def __init__(self, engine: TestEngine, asking: Engine, folder: Path) -> None:
        self._engine = engine
        self._asking = asking
        self._folder = folder
        self._task = asking.submit(Draft(command=("rm", "/nowhere/x"))).id

    def line(self, program: str = APPROVE) -> str:
        """Return a shell line that runs a program with the home and the task to approve."""
        path = self._folder / "program.py"
        path.write_text(program)
        return f"{sys.executable} {path} {self._asking.home.path} {self._task}"

    async def result(self, line: str) -> str:
        """Return what an attempt printed; nothing may be approved by it."""
        run = await self._engine.finished(line)
        printed = await self._engine.text(run.id)
        assert self._asking.get(self._task).state == "proposed", printed
        return printed


@pytest.fixture
def attacker(engine: TestEngine, asking: Engine, tmp_path: Path) -> Attacker:
    return Attacker(engine, asking, tmp_path)


async def test_however_many_processes_are_between(attacker: Attacker, tmp_path: Path) -> None:
    (tmp_path / "deep.sh").write_text(DEEP)
    line = f"env -i sh {tmp_path}/deep.sh 1200 {attacker.line()}"

    assert (await attacker.result(line)).startswith("refused")


async def test_if_its_parent_ends_while_it_is_looked_at(attacker: Attacker) -> None:
    assert (await attacker.result(f"env -i {attacker.line(ORPHANED)}")).startswith("refused")


@pytest.mark.parametrize(
    "way",
    ["-pf", "-pf --mount-proc", "-m sh -c 'mount -t tmpfs none /proc; exec \"$@\"' -"],
    ids=["numbers", "numbers and proc", "no proc"],
)
async def test_in_a_namespace_of_its_own(attacker: Attacker, way: str) -> None:
    if subprocess.run(["unshare", "-Ur", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    line = f"env -i unshare -Ur {way} {attacker.line()}"

    assert (await attacker.result(line)).startswith("refused")


def test_outside_of_all_runs_a_person_can_consent() -> None:
    assert enclosing_run() == ""
