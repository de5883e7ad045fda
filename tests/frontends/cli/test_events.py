"""Events at the command line: what is said, shown, completed and refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from errands.frontends.cli.display.json_fields import ALONE, ALWAYS, OF_RECURRING
from tests.engine.daemons import eventually
from tests.frontends.cli.person import Person


def watched(person: Person, task_id: str) -> bool:
    return bool(person.sees(task_id)["watch"]["health"] == "well")


@pytest.mark.spec("T6", "T11", "X7")
def test_a_watch_is_made_shown_and_runs(person: Person, tmp_path: Path) -> None:
    words = ("--cwd", str(tmp_path), "--on", "file:*.txt", "--debounce", "100ms", "--max-wait", "1s")
    made = person.types("run", "--name", "look", *words, "--rate", "5", "cat *.txt")
    task_id = re.match(r"watching (look-\w+): on file:\*\.txt; next run when it happens", made.out)
    assert task_id is not None
    eventually(lambda: watched(person, task_id[1]))
    (tmp_path / "a.txt").write_text("hello")
    eventually(lambda: person.sees(task_id[1])["run_count"] == 1)
    eventually(lambda: person.sees(task_id[1])["run_state"] == "completed")
    view = person.sees(task_id[1])

    assert set(view) == {*ALWAYS, *ALONE, *OF_RECURRING}
    assert (view["schedule"], view["health"], view["state"]) == ("on file:*.txt", "well", "active")
    assert view["watch"]["last_event"]["text"] == "a.txt created"
    assert view["checked_at"] is not None
    assert view["last_event_at"] is not None
    timing = {"debounce": 0.1, "max_wait": 1.0, "rate": 5}
    assert view["trigger"] == {"kind": "on", "source": "file", "subject": "*.txt", **timing}
    shown = person.types("show", task_id[1]).out
    assert re.search(r"event +on file:\*\.txt\n", shown)
    assert re.search(r"watch +well\n", shown)
    assert re.search(r"last check +20", shown)
    assert re.search(r"last event +a\.txt created \(", shown)
    assert re.search(r" active .* event .* · on file:\*\.txt · ", person.types("ls").out)
    assert re.search(r"ran +1", person.types("schedule", task_id[1]).out)
    person.types("cancel", task_id[1])


@pytest.mark.spec("T11")
@pytest.mark.trap(55)
def test_a_watch_that_fails_is_seen_everywhere(person: Person, tmp_path: Path) -> None:
    words = ("--cwd", str(tmp_path), "--on", "file:nowhere/*.txt")
    task_id = person.types("run", "-q", *words, "true").out.strip()
    eventually(lambda: person.sees(task_id)["health"] == "failing")

    assert "does not exist" in person.types("show", task_id).out
    assert "its watch is failing" in person.types("ls").out
    assert f"the watch of {task_id} is failing: directory " in person.types("doctor").out
    eventually(lambda: task_id in person.types("notices", "--peek").out)  # one failure may be an accident
    assert re.search(rf"{task_id} .*does not exist", person.types("notices", code=0).out)
    person.types("cancel", task_id)


def test_an_agent_can_wait_for_events(person: Person, tmp_path: Path) -> None:
    words = ("--on", "command:cat words", "--on-option", "every=1s", "--cwd", str(tmp_path))
    task_id = person.types("ask", "-q", *words, "what is new?").out.strip()

    view = person.sees(task_id)
    assert (view["schedule"], view["watched"]) == ("on command:cat words, every 1s", "cat words")
    person.types("cancel", task_id)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on", "nothing"), "write SOURCE:SUBJECT"),
        (("--on", "fils:x"), "did you mean file?"),
        (("--on", "file:x", "--on-option", "every"), "write NAME=VALUE"),
        (("--on", "file:x", "--every", "1h"), "--every and --on cannot be combined"),
        (("--on", "file:x", "--wait"), "has no end to wait for"),
        (("--debounce", "1s"), "--debounce has no effect without --on"),
    ],
)
def test_what_makes_no_sense_is_refused(person: Person, words: tuple[str, ...], said: str) -> None:
    refused = person.types("run", *words, "true", code=2)

    assert said in refused.err


def test_sources_are_completed(person: Person) -> None:
    found = person.types("complete", "zsh", "--", "run", "--on", "fi").out

    assert found.startswith("file:\t")
