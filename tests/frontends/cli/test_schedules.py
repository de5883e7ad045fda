"""Schedules at the command line: what is said, shown and refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from errands.frontends.cli.display.json_fields import ALONE, ALWAYS, OF_RECURRING
from tests.engine.daemons import eventually
from tests.frontends.cli.person import Person


@pytest.mark.spec("T1", "X7")
@pytest.mark.trap(49)
def test_the_reply_names_the_rule_and_the_next_time(person: Person) -> None:
    every = person.types("run", "--name", "lint", "--every", "30m", "true")
    cron = person.types("run", "--cron", "@daily", "--tz", "Asia/Tokyo", "--notify", "never", "true")

    assert re.match(r"scheduled lint-\w+: every 30m; next run 20\S+ \S+ \(in 30 min\)", every.out)
    assert "errands notices reports what is new" in every.out
    assert "cron 0 0 * * * (Asia/Tokyo); next run" in cron.out


@pytest.mark.spec("T1")
@pytest.mark.trap(48)
def test_a_preview_shows_five_times_and_starts_nothing(person: Person) -> None:
    before = len(person.types("ls", "--json", "--all").objects)
    words = ("--cron", "30 9 * * 1-5", "--tz", "America/New_York")
    shown = person.types("run", "--preview", *words, "true")
    asked = person.types("ask", "--preview", "--json", *words, "hello").object
    once = person.types("run", "--preview", "--json", "--at", "2030-01-01T00:00Z", "true").object

    assert "cron 30 9 * * 1-5 (America/New_York); nothing is started" in shown.out
    assert len(re.findall(r"= 09:30 America/New_York", shown.out)) == 5
    assert len(asked["next_runs"]) == 5
    assert once["next_runs"] == ["2030-01-01T00:00:00Z"]
    there = person.types(
        "run", "--preview", "--json", "--at", "2030-01-01T09:00", "--tz", "Asia/Tokyo", "true"
    )
    assert there.object["next_runs"] == once["next_runs"]
    assert len(person.types("ls", "--json", "--all").objects) == before


@pytest.mark.spec("T1")
def test_times_that_follow_each_other_differ(person: Person) -> None:
    assert re.search(r"next run \S+ \S+ \(in 1 s\)", person.types("run", "--every", "1s", "true").out)
    for every in ("1s", "30s", "59s"):
        shown = person.types("run", "--preview", "--every", every, "true").out
        assert len(set(re.findall(r"\(in .*\)", shown))) == 5, shown


@pytest.mark.spec("X21")
def test_a_narrow_list_shows_when_a_task_runs_next_and_no_zone_of_its_own(person: Person) -> None:
    words = ("run", "-q", "--cron", "0 9 * * 1-5")
    here = person.types(*words, "--tz", "Asia/Tokyo", "--name", "here", "true").out.strip()
    there = person.types(*words, "--tz", "America/New_York", "--name", "there", "true").out.strip()
    narrow = person.types("ls", COLUMNS="60", TZ="Asia/Tokyo").out
    wide = person.types("ls", COLUMNS="200", TZ="Asia/Tokyo").out

    for task_id, zone in ((here, ""), (there, r" \(America/New_York\)")):
        assert re.search(rf"^{task_id} +. active .* in \d+ (h|min|s|day)", narrow, re.M), narrow
        assert re.search(rf"^{task_id} .* next in [\w ]+ · cron 0 9 \* \* 1-5{zone}( |$)", wide, re.M), wide
    person.configures('[schedules]\nzone = "America/New_York"\n')
    assert "America/New_York" not in person.types("ls", COLUMNS="200", TZ="Asia/Tokyo").out


@pytest.mark.spec("T2", "T5", "X7")
def test_a_schedule_is_shown_fired_paused_and_resumed(person: Person) -> None:
    task_id = person.types("run", "-q", "--every", "1h", "--max-runs", "9", "echo hello").out.strip()
    assert person.types("fire", task_id, "--wait").out == "hello\n"
    view = person.sees(task_id)

    assert set(view) == {*ALWAYS, *ALONE, *OF_RECURRING}
    assert (view["state"], view["task_state"], view["run_state"]) == ("active", "active", "completed")
    assert (view["schedule"], view["run_count"], view["max_runs"], view["runs"]) == ("every 1h", 1, 9, 1)
    assert (view["next_run_at"] == view["next_runs"][0], len(view["next_runs"])) == (True, 5)
    assert view["last_run_at"] == view["started_at"]
    shown = person.types("show", task_id).out
    assert re.search(r"runs +1 of 9\n", shown)
    assert re.search(r"next run +20", shown)
    row = person.types("ls").out.partition(task_id)[2].splitlines()[0]
    assert "active" in row
    assert "next in 1 h · every 1h · last completed" in row

    held = person.types("hold", task_id, code=1).err
    assert f"there is nothing to hold; `errands pause {task_id}` pauses its schedule" in held
    assert person.types("pause", task_id).out == f"paused {task_id}  (errands unpause {task_id})\n"
    released = person.types("release", task_id, code=1).err
    assert f"is paused, not held; `errands unpause {task_id}` continues it" in released
    assert person.sees(task_id)["next_run_at"] is None
    assert [each["id"] for each in person.types("ls", "--json", "--state", "paused").objects] == [task_id]
    assert person.types("unpause", task_id).out.startswith(f"scheduled {task_id}: every 1h; next run")
    ended = person.types("cancel", task_id).out
    assert ended.startswith(f"{task_id}  ⊘ cancelled · every 1h · last completed"), (
        "it has no time of its own"
    )
    assert person.sees(task_id)["state"] == "cancelled"
    assert "cleared 1 task" in person.types("clear", task_id).out


@pytest.mark.spec("T10")
def test_what_happened_at_every_time_is_shown(person: Person) -> None:
    task_id = person.types("run", "-q", "--every", "1s", "--max-runs", "1", "true").out.strip()
    assert person.types("wait", task_id).code == 0
    shown = person.types("schedule", task_id)
    told = person.types("schedule", "--json", task_id).object

    assert re.search(r"DUE +OUTCOME +RUN", shown.out)
    assert re.search(r"ran +1\n", shown.out)
    assert (told["state"], told["run_count"], told["next_runs"]) == ("done", 1, [])
    assert [(slot["outcome"], slot["run"]) for slot in told["slots"]] == [("ran", 1)]


@pytest.mark.spec("T4", "X7")
def test_a_tick_that_finds_the_last_run_still_going_is_shown_as_skipped(person: Person) -> None:
    task_id = person.types("run", "-q", "--every", "1s", "sleep 600").out.strip()

    def skipped() -> list[dict[str, Any]]:
        slots = person.types("schedule", "--json", task_id).object["slots"]
        return [each for each in slots if each["outcome"] == "skipped"]

    eventually(lambda: bool(skipped()))

    assert skipped()[0]["reason"] == "the run before it had not ended"
    assert person.sees(task_id)["runs"] == 1
    assert re.search(r"skipped .*the run before it had not ended", person.types("schedule").out)
    person.types("cancel", task_id)


@pytest.mark.spec("L9")
def test_stopping_ends_the_run_and_leaves_the_schedule(person: Person) -> None:
    task_id = person.types("run", "-q", "--every", "1h", "sleep 600").out.strip()
    run_id = person.types("fire", "-q", task_id).out.strip()
    assert run_id == f"{task_id}.1"
    person.waits_until(task_id, "run_state", "running")
    assert "running now · next in 1 h" in person.types("ls").out.partition(task_id)[2].splitlines()[0]
    assert task_id in person.types("ls", "--state", "running").out
    assert [each["id"] for each in person.types("ls", "--state", "running", "--json=id").objects] == [task_id]
    person.types("stop", task_id)

    view = person.sees(task_id)
    assert (view["state"], view["run_state"]) == ("active", "cancelled")
    assert task_id not in person.types("ls", "--state", "running").out
    person.types("cancel", task_id)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["pause"], "is completed; there is nothing to pause"),
        (["hold"], "is completed; there is nothing to hold"),
        (["unpause"], "is completed; it is not paused"),
        (["release"], "is completed; it is not held"),
        (["schedule"], "runs once and has no schedule"),
        (["fire"], "is completed and cannot be fired; errands restart"),
    ],
)
def test_a_task_that_runs_once_has_no_schedule(person: Person, words: list[str], complaint: str) -> None:
    task_id = person.finishes("true")
    answer = person.types(*words, task_id, code=None)

    assert answer.code != 0
    assert complaint in answer.err


def test_logs_of_a_task_that_has_not_run_say_when_it_will(person: Person) -> None:
    hourly = person.types("run", "-q", "--every", "1h", "true").out.strip()
    watching = person.types("run", "-q", "--on", "file:*.none", "true").out.strip()
    proposed = person.types("propose", "touch made").proposal
    standing = person.types("propose", "--every", "1h", "touch made").proposal

    for words in ((), ("--json",), ("--follow",), ("--tail", "3")):
        said = person.types("logs", *words, hourly, code=3).err
        assert re.search(rf"{hourly} has not run yet: starts in 1 h  \(errands show {hourly}\)", said)
    assert f"{watching} has not run yet: waiting for an event" in person.types("logs", watching, code=3).err
    assert f"{standing} has not run yet: waiting for approval" in person.types("logs", standing, code=3).err
    assert f"{proposed} has not started: waiting for approval" in person.types("logs", proposed).err
    person.types("pause", hourly)
    assert f"{hourly} has not run yet: it is paused" in person.types("logs", hourly, code=3).err
    person.types("cancel", hourly, watching)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--tz", "UTC"], "--tz has no effect without --every, --cron or --at; add that, or leave it out"),
        (["--active-hours", "9-17"], "--active-hours has no effect without --every or --cron"),
        (["--on", "file:x", "--max-age", "1h"], "--max-age has no effect without --every or --cron"),
        (["--max-runs", "2"], "--max-runs has no effect without --every, --cron or --on"),
        (["--every", "1h", "--on-option", "every=1m"], "--on-option has no effect without --on"),
        (["--max-wait", "1m"], "--max-wait has no effect without --on"),
    ],
)
def test_an_option_alone_is_refused_as_it_was_typed(person: Person, words: list[str], complaint: str) -> None:
    for verb in (("run",), ("ask",), ("template", "save", "alone")):
        assert complaint in person.types(*verb, *words, "true", code=2).err


@pytest.mark.spec("L15")
def test_a_template_starts_a_schedule(person: Person) -> None:
    person.types(
        "template", "save", "hourly", "--every", "1h", "--active-hours", "9-17", "--tz", "UTC", "true"
    )
    task_id = person.types("template", "run", "-q", "hourly").out.strip()

    assert person.sees(task_id)["schedule"] == "every 1h, within 9-17 (UTC)"
    person.types("cancel", task_id)


@pytest.mark.spec("X7")
def test_ids_of_schedules_are_completed(person: Person) -> None:
    once = person.finishes("true")
    task_id = person.types("run", "-q", "--every", "1h", "true").out.strip()
    offered = person.types("complete", "bash", "--", "pause", "").out

    assert task_id in offered
    assert once not in offered
    assert "skip" in person.types("complete", "bash", "--", "run", "--misfire", "").out
    person.types("cancel", task_id)


@pytest.mark.spec("X15")
def test_a_schedule_without_a_daemon_is_pointed_out(newcomer: Person) -> None:
    newcomer.types("run", "-q", "--every", "1h", "true")
    assert "waiting tasks do not start" not in newcomer.types("ls").out
    newcomer.types("daemon", "stop")

    assert "waiting tasks do not start: errands daemon start" in newcomer.types("ls").out
