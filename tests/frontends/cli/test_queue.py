"""pause, hold, release, move, edit and lane on the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.frontends.cli.person import Person


def listed(person: Person, *words: str) -> list[str]:
    """Return the ids that `ls` lists, in their order."""
    return [row.split()[0] for row in person.types("ls", "--columns", "id", *words).out.splitlines()[1:]]


COUNTING = "n=0; while :; do n=$((n+1)); echo $n; sleep 0.01; done"


@pytest.mark.spec("L28", "X7")
def test_a_task_is_paused_when_pause_returns_and_continues(person: Person) -> None:
    task_id = person.starts(COUNTING)
    person.waits_until(task_id, "state", "running")
    paused = person.types("pause", task_id)
    output = Path(person.sees(task_id)["output_file"])
    size = output.stat().st_size

    assert paused.out == f"paused {task_id}: its processes are suspended  (errands unpause {task_id})\n"
    assert "‖ paused" in person.types("ls").out
    assert "‖ paused" in person.types("ls", "--state", "paused").out
    assert task_id in person.types("ls", "--state", "running").out
    assert "no matching tasks" in person.types("ls", "--state", "cancelling").out
    assert [each["id"] for each in person.types("ls", "--state", "paused", "--json").objects] == [task_id]
    assert "‖ paused" in person.types("show", task_id).out
    assert person.sees(task_id)["paused_at"] is not None
    assert output.stat().st_size - size < 100  # what was in the pipe

    assert person.types("unpause", task_id).out.startswith(f"continued {task_id}  ")
    assert person.types("unpause", task_id).out == f"{task_id} is not paused\n"
    person.types("pause", task_id)
    assert "cancelled" in person.types("cancel", task_id).out
    assert person.types("pause", task_id, code=1).err.endswith("is cancelled; there is nothing to pause\n")


@pytest.mark.spec("L28", "X7")
def test_a_pending_task_is_held_edited_and_released(person: Person) -> None:
    task_id = person.starts("--hold", "--name", "later", "echo old")
    other = person.starts("--at", "in 1h", "true")
    assert "‖ held" in person.types("ls").out
    assert listed(person, "--state", "held", "-n", "1") == [task_id]
    assert listed(person, "--state", "held", "--state", "pending") == [other, task_id]
    assert [each["id"] for each in person.types("ls", "--state", "held", "--json").objects] == [task_id]
    person.types("cancel", other)
    held = person.types("hold", task_id)
    assert held.out == f"held {task_id}  (errands release {task_id})\n"

    edited = person.types("edit", "later", "--timeout", "1h", "echo new")
    assert edited.out.startswith(f"edited {task_id}: held until you run errands release {task_id}")
    assert "edit does not take --after" in person.types("edit", task_id, "--after", "x", code=2).err
    assert (
        f"edit needs a change: errands edit {task_id} 'make test'"
        in person.types("edit", task_id, code=2).err
    )

    # A variable is added to those that the task has.
    person.types("edit", task_id, "--env", "SIZE=1")
    person.types("edit", task_id, "--env", "COLOUR=red", "echo new $SIZE $COLOUR")

    said = person.types("release", task_id).out
    assert re.match(f"released {task_id}(: it is about to start|, )", said)  # its lane has room
    assert person.types("wait", task_id).code == 0
    assert person.types("logs", task_id).out == "new 1 red\n"


@pytest.mark.spec("L28", "X7", "X21")
def test_everything_of_yours_is_paused_at_once_and_continued(newcomer: Person) -> None:
    assert "that could be paused" in newcomer.types("pause", "--all").err
    assert "is paused or held" in newcomer.types("unpause", "--all").err
    newcomer.types("lane", "shell", "1")
    theirs = newcomer.types("run", "-q", "--lane", "local", COUNTING, ERRANDS_SESSION="claude:1").out.strip()
    schedule = newcomer.starts("--every", "1h", "true")
    running = newcomer.starts(COUNTING)
    newcomer.waits_until(running, "state", "running")
    pending = newcomer.starts("true")

    # Nothing starts in the place of what is paused, so what is pending is held before that.
    said = newcomer.types("pause", "-a").out.splitlines()
    assert [each.partition(":")[0] for each in said] == [f"held {pending}", f"paused {running}"]
    assert newcomer.sees(theirs)["paused_at"] is None
    assert newcomer.sees(schedule)["state"] == "active"
    assert "either --all, or ids" in newcomer.types("pause", "--all", running, code=2).err

    newcomer.types("lane", "shell", "2")
    said = newcomer.types("unpause", "--all").out.splitlines()
    assert [each.split()[:2] for each in said] == [["continued", running], ["released", f"{pending}:"]]
    assert newcomer.types("wait", pending).code == 0
    newcomer.types("cancel", running, theirs)


@pytest.mark.spec("L28", "X7")
def test_what_was_not_held_is_not_called_released(person: Person) -> None:
    later = person.starts("--at", "+1h", "true")
    running = person.starts("--stdin", "read line")
    person.waits_until(running, "state", "running")

    assert re.search(
        rf"{later} is not held: starts in .* \(20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\)",
        person.types("release", later).out,
    )
    assert person.types("release", running).out == f"{running} is not held; it is running\n"
    assert "place" not in person.types("show", later).out
    person.types("cancel", later, running)


@pytest.mark.spec("L28", "X7")
def test_a_recurring_task_and_a_prompt_are_edited(person: Person) -> None:
    task_id = person.starts("--every", "6h", "--name", "nightly", "echo old")
    edited = person.types("edit", "nightly", "--every", "2h", "echo new")
    assert edited.out.startswith(f"edited {task_id}: every 2h; next run 20")
    shown = person.sees(task_id)
    assert (shown["command"], shown["schedule"], shown["state"]) == ("echo new", "every 2h", "active")
    jittered = person.types("edit", "--json", task_id, "--jitter", "5m").object
    assert jittered["schedule"] == "every 2h, up to 5m later"
    assert "--every must be at least 1s" in person.types("edit", task_id, "--every", "0s", code=2).err
    assert "which cannot be changed" in person.types("edit", task_id, "--on", "file:*.py", code=2).err
    person.types("cancel", task_id)

    prompt = person.types("ask", "-q", "--hold", "--agent", "offline", "run `echo old`").out.strip()
    edited = person.types("edit", prompt, "--timeout", "1h", "run `echo new`")
    assert edited.out.startswith(f"edited {prompt}: held until")
    assert person.sees(prompt)["prompt"] == "run `echo new`"
    assert "in quotes" in person.types("edit", prompt, "two", "words", code=2).err
    assert "--then is for commands" in person.types("edit", prompt, "--then", "true", code=2).err
    person.types("cancel", prompt)


@pytest.mark.spec("L28", "A5")
def test_an_edit_that_needs_approval_is_a_proposal_without_a_terminal(person: Person) -> None:
    task_id = person.starts("--hold", "echo harmless")
    answer = person.types("edit", task_id, "rm -rf precious", code=4)

    assert f"errands approve {task_id}" in answer.out
    assert person.sees(task_id)["state"] == "proposed"
    assert person.types("edit", task_id, "--yes", "rm -rf precious").out.startswith(f"edited {task_id}")
    person.types("cancel", task_id)


@pytest.mark.spec("L28", "X7")
def test_tasks_are_moved_and_lanes_change_their_width(person: Person) -> None:
    assert person.types("lane", "bench", "0").out.startswith(
        "new lane bench: nothing more starts from now on"
    )
    first, second, third = [person.starts("--lane", "bench", f"echo {n}") for n in range(3)]

    assert person.types("move", third).out == f"moved {third}: now 1 of 3 in lane bench\n"
    assert person.types("move", first, "--last").out == f"moved {first}: now 3 of 3 in lane bench\n"
    assert person.types("move", first, "--before", second, "--json").object["place"] == 2
    assert "give one of" in person.types("move", first, "--first", "--last", code=2).err
    for words in ((), ("--state", "pending"), ("-n", "3"), ("--all",), ("--state", "pending", "--all")):
        found = [each for each in listed(person, *words) if each in (first, second, third)]
        assert found == [third, first, second], words
    assert "2 of 3 in lane bench" in person.types("show", first).out

    lanes = {each["name"]: each for each in person.types("lane", "--json").objects}
    assert (lanes["bench"]["width"], lanes["bench"]["pending"]) == (0, 3)
    assert lanes["bench"]["set_by"] == "ada"
    (row,) = (
        each for each in person.types("lane", COLUMNS="80").out.splitlines() if each.startswith("bench")
    )
    assert row.endswith(("set by ada just now", " ago"))
    assert person.types("lane", "bench", "2").out == "lane bench: 2 runs at once from now on\n"
    assert person.types("wait", first, second, third).code == 0
    assert "a width is" in person.types("lane", "bench", "wide", code=2).err
    assert "errands lane gpu 2" in person.types("lane", "gpu", code=2).err
    assert person.types("lane", "shell", "7").out.endswith(
        "the configuration says 5 (to go back: errands lane shell default)\n"
    )
    (row,) = (
        each for each in person.types("lane", COLUMNS="80").out.splitlines() if each.startswith("shell")
    )
    assert row.endswith("; configured: 5")
    assert person.types("lane", "shell", "default").out == "lane shell: 5 runs at once from now on\n"
