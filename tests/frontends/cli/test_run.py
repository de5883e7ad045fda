"""run: a command is started at once, as it was typed, and --wait behaves like the command itself."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from errands.frontends.cli.display.json_fields import ALONE, ALWAYS
from tests.frontends.cli.person import COMMAND, Person

# What scripts may rely on.
KEYS = {
    *("id", "kind", "state", "task_state", "run_state", "description", "command", "cwd", "created_at"),
    *(
        "created_by",
        "updated_at",
        "started_at",
        "completed_at",
        "exit_code",
        "signal",
        "error",
        "output_file",
    ),
    *("truncated", "approved_by", "approved_at", "resume_count", "forked", "batch", "parent", "wake", "runs"),
}


@pytest.mark.spec("L1", "L4", "N8")
def test_the_reply_names_the_task_and_says_how_its_end_is_reported(person: Person) -> None:
    for _ in range(100):
        answer = person.types("run", "--name", "Full Tests", "--stdin", "read line")
        task_id = answer.out.split()[1].rstrip(":")
        if answer.out.startswith("started "):
            break
        # The reply does not wait long for the start: on a busy machine the task may still be queued.
        assert answer.out.startswith(f"queued {task_id}: "), answer
        person.types("cancel", task_id)

    assert task_id.startswith("full-tests-")
    told = f"started {task_id}  (errands logs -f {task_id}; errands notices reports when it ends)\n"
    assert answer.out == told
    person.types("cancel", task_id)


@pytest.mark.spec("N8")
def test_the_reply_promises_no_notice_that_will_not_come(person: Person) -> None:
    queued = person.types("run", "--notify", "never", "--at", "+1h", "true")
    on_failure = person.types("run", "--notify", "on_failure", "--at", "+1h", "true")
    task_id = queued.out.split()[1].rstrip(":")

    assert queued.out.endswith(f"; errands wait {task_id} waits for its end)\n")
    assert on_failure.out.endswith("; errands notices reports if it fails)\n")
    person.types("cancel", task_id, on_failure.out.split()[1].rstrip(":"))


@pytest.mark.spec("X7")
def test_every_field_of_a_task_in_json_is_explained(person: Person) -> None:
    task_id = person.finishes("true")

    assert list(person.types("ls", "--json", "-n", "1").object) == list(ALWAYS)
    assert list(person.sees(task_id)) == [*ALWAYS, *ALONE]


def test_a_directory_that_is_gone_is_named_as_the_reason(person: Person, tmp_path: Path) -> None:
    leaving = f"cd {tmp_path}; rmdir {tmp_path}; exec {' '.join(COMMAND)} run true"
    done = subprocess.run(
        ["sh", "-c", leaving], env=person.environ, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("errands: the current directory is gone; cd somewhere else")


@pytest.mark.spec("X7")
def test_json_has_every_key_that_scripts_may_rely_on(person: Person) -> None:
    view = person.types("run", "--json", "--description", "look", "true").object

    assert view.keys() >= KEYS
    assert view["description"] == "look"
    assert view["created_by"] == "ada"
    assert view["state"] in ("pending", "running", "completed")


def test_one_word_is_a_line_for_a_shell_and_several_are_words(person: Person) -> None:
    line = person.types("run", "--wait", "-q", "echo a; echo $((1+1)) | cat")
    words = person.types("run", "--wait", "-q", "--", "echo", "a; echo $((1+1))", "| cat")
    bare = person.types("run", "--wait", "-q", "echo", "two", "words")

    assert line.out == "a\n2\n"
    assert words.out == "a; echo $((1+1)) | cat\n"
    assert bare.out == "two words\n"


@pytest.mark.spec("L2", "L25")
def test_a_task_has_the_environment_and_the_directory_of_its_caller(person: Person, tmp_path: Path) -> None:
    show = "pwd; echo $MINE-$ADDED"
    here = person.types("run", "-w", "-q", "--env", "ADDED=2", show, cwd=tmp_path, MINE="1")
    there = person.types("run", "-w", "-q", "--cwd", str(tmp_path), show, MINE="3")

    assert here.out == f"{tmp_path}\n1-2\n"
    assert there.out == f"{tmp_path}\n3-\n"


@pytest.mark.spec("X7", "L8")
@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill $$", 143)],
)
def test_waiting_exits_with_the_code_of_the_command(person: Person, command: str, code: int) -> None:
    assert person.types("run", "--wait", command, code=code).code == code
    assert person.types("wait", person.finishes(command), code=code).code == code


@pytest.mark.spec("L8")
def test_a_command_that_cannot_start_says_why(person: Person) -> None:
    answer = person.types("run", "--wait", "--", "/no/such/program", code=None)
    view = person.types("ls", "--json", "-n", "1").object

    assert answer.code != 0
    assert "/no/such/program" in answer.err
    assert view["state"] == "failed"
    assert view["failure"] == "spawn"


def test_output_goes_to_standard_output_and_the_rest_to_standard_error(person: Person) -> None:
    answer = person.types("run", "--wait", "echo out; echo err >&2; exit 2", code=2)

    assert answer.out == "out\nerr\n"
    assert "started echo-" in answer.err
    assert "failed" in answer.err
    assert "exit 2" in answer.err


def test_waiting_with_json_gives_one_object_at_the_end(person: Person) -> None:
    view = person.types("run", "--wait", "--json", "echo hello; exit 4", code=4).object

    assert (view["state"], view["exit_code"], view["output_tail"]) == ("failed", 4, "hello\n")


@pytest.mark.spec("O1")
def test_raw_bytes_come_through_as_they_are(person: Person) -> None:
    answer = person.types("run", "--wait", "--raw", "-q", r"printf '\377\000\033[2Jx'")

    assert answer.out.encode("utf-8", "surrogateescape") == b"\xff\x00\x1b[2Jx"


@pytest.mark.trap(41)
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["-x", "pytest"], "run has no option -x"),
        (["-x", "pytest"], "put -- before the command"),
        (["sleep 5", "x", "--name", "x"], "is --name for errands or for sleep 5?"),
        (["--every", "5m", "--cron", "@daily", "true"], "--every and --cron cannot be combined"),
        (["--every", "5m", "--wait", "true"], "errands fire ID --wait"),
        (["--every", "100ms", "true"], "--every must be at least 1s (got 100ms)"),
        (["--cron", "61 * * * *", "true"], "is not a cron line: bad minute"),
        (["--cron", "0 0 30 2 *", "true"], "never fires: that day does not exist"),
        (["--cron", "0 9 * *", "true"], "it has 4 fields instead of 5"),
        (["--cron", "hourly", "true"], "'hourly' is not a cron line: the words for one are @hourly, @daily"),
        (["--cron", "@daily", "--tz", "Vienna", "true"], "did you mean Europe/Vienna?"),
        (["--cron", "0 3 * * *", "--active-hours", "9-17", "true"], "never falls within the active hours"),
        (["--every", "1h", "--active-hours", "9", "true"], "'9' is not a range of hours"),
        (["--every", "1h", "--misfire", "twice", "true"], "choose one of: once, skip, all"),
        (["--every", "1h", "--max-runs", "0", "true"], "--max-runs must be at least 1 (got 0)"),
        (["--jitter", "1m", "true"], "--jitter has no effect without --every or --cron"),
        (
            ["--at", "+1h", "--max-runs", "2", "true"],
            "--max-runs has no effect without --every, --cron or --on",
        ),
        (["--stdin", "--pty", "cat"], "--pty includes --stdin"),
        (["--raw", "true"], "give it with --wait"),
        (["--json", "-q", "true"], "give either --json or --quiet, not both"),
        (["--timeout", "soon", "true"], "--timeout: 'soon' is not a duration"),
        (["--timeout", "", "true"], "--timeout: the duration is empty. Write it like"),
        (["--timeout", "0s", "true"], "--timeout must be at least 1ms (got 0s)"),
        (["--memory", "lots", "true"], "--memory: 'lots' is not a size"),
        (["--memory", "0", "true"], "--memory cannot be 0; write none for no limit"),
        (["--memory", "1", "true"], "--memory must be at least 1MiB (got 1 byte)"),
        (["--env", "X", "true"], "--env: 'X' is not a variable; write NAME=VALUE"),
        (["--at", "teatime", "true"], "'teatime' is not a time"),
        (["--lane", "shel", "true"], "did you mean shell?"),
        (["--lane", "a b", "true"], "the name of a lane begins with a letter"),
        (["--cwd", "/no/such/place", "true"], "or let a task named with --after create it"),
        (["--priority", "hihg", "true"], "did you mean high?"),
        ([], "run needs COMMAND"),
        (["  "], "the command is empty"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_starts(
    person: Person, words: list[str], complaint: str
) -> None:
    before = person.types("ls", "--all", "--json").out
    answer = person.types("run", *words, code=2)

    assert complaint in answer.err
    assert answer.err.startswith("errands: ")
    assert person.types("ls", "--all", "--json").out.count("\n") == before.count("\n")


@pytest.mark.spec("L23")
def test_a_second_start_with_the_same_key_returns_the_first_task(person: Person) -> None:
    first = person.finishes("--key", "nightly-15", "echo one")
    answer = person.types("run", "--key", "nightly-15", "echo two")

    assert answer.out == f"{first} already exists, completed  (errands show {first})\n"
    assert person.starts("--key", "nightly-15", "echo three") == first
    assert person.sees(first)["runs"] == 1


@pytest.mark.spec("L14")
def test_a_task_can_wait_for_another_and_says_so(person: Person) -> None:
    first = person.starts("--stdin", "echo up; read line")
    answer = person.types("run", "--after", first, "echo second")
    second = answer.out.split()[1].rstrip(":")

    assert f"waiting for {first}  (" in answer.out
    assert f"waiting for {first}\n" in person.types("show", second).out
    assert person.sees(second)["state"] == "pending"
    person.waits_for_output(first, "up")
    person.types("send", first, "go")
    assert person.types("wait", second).code == 0


@pytest.mark.spec("L14")
def test_a_task_whose_dependency_failed_is_skipped_with_the_reason(person: Person) -> None:
    bad = person.finishes("exit 1")
    answer = person.types("run", "--after", bad, "echo never")
    task_id = answer.out.split()[1].rstrip(":")

    assert answer.out.startswith("skipped ")
    assert bad in answer.out
    assert "notices" not in answer.out
    assert person.types("wait", task_id, code=125).code == 125


@pytest.mark.spec("L18")
def test_a_delayed_task_says_when_it_starts(person: Person) -> None:
    answer = person.types("run", "--at", "+1h", "true")
    task_id = answer.out.split()[1].rstrip(":")

    assert re.search(r"starts in 1 h \(20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\)", answer.out)
    assert person.sees(task_id)["state"] == "pending"
    person.types("cancel", task_id)


def test_a_time_that_is_near_or_has_passed_is_described_as_such(person: Person) -> None:
    assert re.search(r"starts in \d+ s\b", person.types("run", "--at", "+30s", "true").out)
    late = person.types("run", "--at", "2020-01-01", "true")
    assert late.err == "--at 2020-01-01: that time has passed; it starts now\n"
    assert person.types("run", "--at", "now", "true").err == ""
    assert late.out.startswith("started ")
    assert person.types("run", "-q", "--at", "2020-01-01", "true").err == ""


def test_a_directory_may_come_with_the_task_that_is_waited_for(person: Person, tmp_path: Path) -> None:
    first = person.starts(f"mkdir {tmp_path}/new")
    answer = person.types("run", "--wait", "-q", "--after", first, "--cwd", f"{tmp_path}/new", "pwd")

    assert answer.out == f"{tmp_path}/new\n"


@pytest.mark.spec("L5", "L6")
def test_a_task_that_finds_its_lane_full_is_queued_and_says_so(person: Person) -> None:
    first = person.starts("--lane", "local", "--stdin", "read line")
    person.waits_until(first, "state", "running")
    answer = person.types("run", "--lane", "local", "--priority", "high", "true")

    assert "waiting for room in lane local" in answer.out
    person.types("send", first, "go")
    assert person.types("wait", answer.out.split()[1].rstrip(":")).code == 0


@pytest.mark.spec("L19", "L16")
def test_a_sequence_and_its_hooks_run_in_order(person: Person) -> None:
    answer = person.types(
        *(
            "run",
            "-w",
            "--before",
            "echo first",
            "--then",
            "echo third",
            "--then",
            "exit 7",
            "--then",
            "echo never",
        ),
        *("--finally", "echo last $ERRANDS_EXIT_CODE $ERRANDS_OUTCOME", "echo second"),
        code=7,
    )
    said = [line for line in answer.out.splitlines() if not line.startswith("$ ")]

    assert said == ["first", "second", "third", "last 7 failed"]


@pytest.mark.spec("L10", "L17")
@pytest.mark.parametrize(
    ("options", "reason"),
    [(["--timeout", "0.2s"], "0.2"), (["--idle-timeout", "0.2s"], "0.2"), (["--processes", "1"], "process")],
)
def test_a_limit_that_is_passed_is_named(person: Person, options: list[str], reason: str) -> None:
    answer = person.types(
        "run", "--wait", *options, "--grace", "0.2s", "sleep 300 & sleep 300; wait", code=None
    )

    assert answer.code not in (0, 124)
    assert reason in answer.err


def test_a_name_in_another_encoding_is_harmless(person: Person) -> None:
    words = [os.fsdecode(b"echo caf\xe9")]
    task_id = person.finishes(*words)

    assert task_id in person.types("ls").out
    assert person.sees(task_id)["state"] == "completed"
