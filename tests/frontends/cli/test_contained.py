"""Work in a sandbox at the command line: it starts at once, and says at which wall it failed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal, ended, plain
from tests.walls import walled

pytestmark = walled


@pytest.mark.spec("A2", "A5")
def test_a_failure_at_a_wall_says_what_to_do_wherever_a_task_is_shown(person: Person, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    outside = tmp_path / "outside"
    (project / "write.sh").write_text("echo x > /usr/written-by-a-test\n")

    ended = person.types("run", "--wait", "sh write.sh", cwd=project, yes=False, code=2)
    task_id = person.types("ls", "--json", "-n", "1").object["id"]
    advice = (
        "it seems to write /usr/written-by-a-test, which its sandbox does not allow: "
        f"errands approve {task_id} runs it without one"
    )
    assert f"exit 2; {advice}" in ended.err
    assert f"exit 2; {advice}" in person.types("show", task_id).out
    assert f"exit 2; {advice}" in person.types("ls").out
    assert advice in person.sees(task_id)["error"]
    assert person.sees(task_id)["leftovers"] == 0

    (project / "write.sh").write_text(f"echo x > {outside}\n")
    for scope in ("--always", "--task"):
        assert "for this task alone" in person.types("approve", scope, task_id, code=2).err
    assert f"started {task_id}" in person.types("approve", task_id).out
    person.types("wait", "-q", task_id)
    assert outside.read_text() == "x\n"
    assert person.sees(task_id)["approved_by"] != "judge"


@pytest.mark.spec("A5")
def test_the_yes_that_takes_a_sandbox_away_says_so(
    person: Person, terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "write.sh").write_text("echo x > /usr/written-by-a-test\n")
    person.types("run", "--wait", "-q", "sh write.sh", cwd=tmp_path, yes=False, code=2)
    task_id = person.types("ls", "--json", "-n", "1").object["id"]
    (tmp_path / "write.sh").write_text("true\n")

    said, code = ended(terminal.types("approve", "--wait", task_id))

    assert "none any more, so it has all your rights" in plain(said)
    assert "no network" not in plain(said)
    assert code == 0


def test_what_a_command_leaves_running_in_its_sandbox_is_counted_and_ended(
    person: Person, tmp_path: Path
) -> None:
    (tmp_path / "left.sh").write_text("sleep 600 &\necho started\n")
    person.types("run", "--wait", "-q", "sh left.sh", cwd=tmp_path, yes=False)

    view = person.types("ls", "--json", "-n", "1").object
    assert (view["verdict"], view["leftovers"]) == ("contained", 1)


@pytest.mark.spec("A13")
def test_a_module_named_errands_in_the_directory_of_a_command_does_not_become_the_daemon(
    newcomer: Person, tmp_path: Path
) -> None:
    """A run in a sandbox may write one; the next daemon runs outside of it."""
    planted = tmp_path / "errands"
    planted.mkdir()
    (planted / "__init__.py").touch()
    (planted / "__main__.py").write_text(f"open({str(tmp_path / 'struck')!r}, 'w')")
    script = Path(sys.executable).parent / "errands"

    subprocess.run(
        [script, "daemon", "start"], cwd=tmp_path, env=newcomer.environ, check=True, capture_output=True
    )

    assert not (tmp_path / "struck").exists()
    assert newcomer.types("daemon", "status", "--json").object["running"] is True
