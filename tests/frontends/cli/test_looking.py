"""ls, show, logs and wait: what a person and a script see of tasks."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.cli.person import Person


@pytest.mark.spec("X7")
def test_an_empty_list_says_how_to_start_a_task(newcomer: Person) -> None:
    assert newcomer.types("ls").out == "no tasks yet; start one: errands run 'make test'\n"
    assert newcomer.types("ls", "--json").out == ""


@pytest.mark.spec("X7")
def test_the_list_is_aligned_and_has_the_newest_first(newcomer: Person) -> None:
    old = newcomer.finishes("--name", "first", "exit 3")
    new = newcomer.finishes("--name", "second-one", "--batch", "b1", "true")
    titles, newest, oldest = newcomer.types("ls").out.splitlines()

    assert newest.startswith(new)
    assert oldest.startswith(old)
    assert newest.index("✓ completed") == oldest.index("✗ failed") == titles.index("STATE")
    assert oldest.index("exit 3") == titles.index("DETAIL")
    assert newest.index("b1") == titles.index("BATCH")


@pytest.mark.spec("X21")
def test_the_batch_of_one_message_takes_no_room_from_the_ids(newcomer: Person) -> None:
    session = "opencode:ses_e0f7632bcffeNbehmpptmszxaj"
    batch = f"{session}:msg_1f089cf91001cNVxnElnBdIHxD"
    newcomer.types("run", "--wait", "--batch", batch, "true", ERRANDS_SESSION=session)
    (task,) = newcomer.types("ls", "--json", "--batch", batch).objects

    listed = newcomer.types("ls").out

    assert task["id"] in listed
    assert "BATCH" not in listed


@pytest.mark.spec("L13", "X7")
def test_the_list_can_be_narrowed_by_state_and_batch(newcomer: Person) -> None:
    good = newcomer.finishes("--batch", "x", "true")
    bad = newcomer.finishes("--batch", "x", "false")
    newcomer.finishes("false")

    def ids(*options: str) -> list[str]:
        return [view["id"] for view in newcomer.types("ls", "--json", *options).objects]

    assert ids("--batch", "x") == [bad, good]
    assert ids("--batch", "x", "--state", "failed") == [bad]
    assert ids("--state", "completed") == [good]
    assert len(ids("--state", "failed", "--state", "completed")) == 3
    assert len(ids("-n", "2")) == 2
    assert (
        newcomer.types("ls", "--batch", "none").out
        == "no matching tasks; errands ls --all lists every task\n"
    )


def test_a_long_list_is_cut_but_never_hides_a_live_task(newcomer: Person) -> None:
    live = newcomer.starts("--name", "old", "--stdin", "read line")
    ended = [newcomer.starts("true") for _ in range(22)]
    newcomer.types("wait", "-q", *ended)
    answer = newcomer.types("ls")

    assert live in answer.out
    assert answer.out.splitlines()[-1] == "older tasks are not shown: errands ls --all"
    assert len(newcomer.types("ls", "--all").out.splitlines()) == 25  # titles, 23 tasks, lanes


@pytest.mark.spec("O10")
def test_a_running_task_that_reports_progress_has_a_bar_and_the_time_left(person: Person) -> None:
    task_id = person.starts("--stdin", "echo '::progress 3/4 packing'; read line")
    person.waits_for_output(task_id, "packing")
    (line,) = [line for line in person.types("ls").out.splitlines() if line.startswith(task_id)]

    assert " 75% · " in line
    assert " left · ███████░░░ · 3/4 · packing" in line
    assert "75%" in person.types("show", task_id).out
    person.types("cancel", task_id)


@pytest.mark.spec("O7", "O8", "X7")
def test_show_tells_everything_about_a_task(person: Person, tmp_path: Path) -> None:
    task_id = person.finishes(
        *(
            "--description",
            "count to thirty",
            "--batch",
            "counting",
            "--cwd",
            str(tmp_path),
            "--timeout",
            "5m",
        ),
        *("--memory", "2G", "seq 30; echo 5 > $ERRANDS_RUN_DIR/report.txt; exit 6"),
    )
    text = person.types("show", task_id).out

    assert text.startswith(f"{task_id}  ✗ failed\n")
    facts = {line[2:15].strip(): line[15:].strip() for line in text.splitlines() if line.startswith("  ")}
    assert facts["description"] == "count to thirty"
    assert facts["directory"] == str(tmp_path)
    assert facts["result"].startswith("exit 6")
    assert "exit code" not in facts
    assert facts["batch"] == "counting"
    assert facts["limits"] == "time 5m, memory 2 GiB"
    assert facts["files"] == "report.txt"
    assert "30 lines" in facts["output"]
    assert "last 20 lines of output" in text
    assert "\n11\n" in text
    assert "\n10\n" not in text
    assert "\n29\n" in person.types("show", "--lines", "2", task_id).out
    assert "\n28\n" not in person.types("show", "--lines", "2", task_id).out


def test_a_task_that_printed_nothing_is_shown_without_a_hint_to_its_output(person: Person) -> None:
    shown = person.types("show", person.finishes("true")).out

    assert "no output" in shown
    assert "all of it" not in shown


def test_a_credential_in_a_command_is_not_shown(person: Person) -> None:
    shape, value = "ghp_" + "a1B2c3D4e5F6" * 3, "marmalade in the morning"
    task_id = person.types("run", "-q", f"true {shape} '{value}'", JAM_TOKEN=value).out.strip()
    person.waits_until(task_id, "state", "completed")

    for words in (["show", task_id], ["ls"], ["notices"]):
        told = person.types(*words, JAM_TOKEN=value).out
        assert "true [masked: github token] '[masked: JAM_TOKEN]'" in told
        assert shape not in told.partition("directory")[0]


def test_a_task_with_only_a_name_is_listed_with_its_command(person: Person) -> None:
    task_id = person.finishes("--name", "greeting", "echo hello")
    (line,) = [line for line in person.types("ls").out.splitlines() if line.startswith(task_id)]

    assert line.endswith("  echo hello")
    assert "description" not in person.types("show", task_id).out


@pytest.mark.spec("O16")
def test_files_that_a_task_left_are_named_in_json_too(person: Person) -> None:
    task_id = person.finishes("touch $ERRANDS_RUN_DIR/a.diff $ERRANDS_RUN_DIR/b.html")

    assert person.sees(task_id)["files"] == ["a.diff", "b.html"]


@pytest.mark.spec("L12")
def test_show_lists_every_run_of_a_task(person: Person) -> None:
    task_id = person.finishes("exit 1")
    person.types("restart", "--wait", task_id, code=1)
    text = person.types("show", task_id).out

    assert "RUN  STATE     CAUSE    STARTED" in text
    assert " 1  ✗ failed  submit " in text
    assert " 2  ✗ failed  restart" in text


@pytest.mark.spec("O12")
@pytest.mark.fault("F57")
def test_secrets_are_masked_wherever_output_is_shown(person: Person) -> None:
    secret = "correct-horse-battery"
    task_id = person.finishes("--env", f"MY_TOKEN={secret}", "echo the token is $MY_TOKEN.")

    for words in (
        ["show", task_id],
        ["show", "--json", task_id],
        ["logs", task_id],
        ["logs", "--json", task_id],
    ):
        shown = person.types(*words).out
        assert secret not in shown, words
        assert "masked" in shown, words
    assert secret in person.types("logs", "--raw", task_id).out


@pytest.mark.spec("O15")
@pytest.mark.trap(9)
def test_output_cannot_control_the_terminal(person: Person) -> None:
    evil = r"printf '\033]0;owned\007\033[2J\033[31mred\033[0m\033[10A\302\233;x\n'"
    task_id = person.finishes("--description", "de\x1b[2Jscription", evil)

    for words in (["show", task_id], ["logs", task_id], ["logs", "--tail", "5", task_id], ["ls"]):
        assert "\x1b" not in person.types(*words).out.replace("\x1b[31m", "").replace("\x1b[0m", "")
    coloured = person.types("logs", task_id, CLICOLOR_FORCE="1").out
    assert "\x1b[31mred\x1b[0m" in coloured
    assert "\x1b[2J" not in coloured
    assert "owned" not in coloured


@pytest.mark.spec("O3")
def test_output_read_in_parts_repeats_nothing(person: Person) -> None:
    task_id = person.starts("--stdin", "echo one; read line; echo two")
    person.waits_for_output(task_id, "one")
    first = person.types("logs", "--json", task_id).object
    person.types("send", task_id, "go")
    person.types("wait", "-q", task_id)
    rest = person.types("logs", "--json", "--offset", str(first["next_offset"]), task_id).object

    assert (first["output"], first["state"]) == ("one\n", "running")
    assert (rest["output"], rest["state"]) == ("two\n", "completed")
    assert rest["next_offset"] == 8
    assert person.types("logs", "--offset", "4", task_id).out == "two\n"


def test_logs_can_begin_at_the_end_and_show_an_earlier_run(person: Person) -> None:
    task_id = person.finishes("seq 5; echo $ERRANDS_RUN_ID")
    person.types("restart", "-w", "-q", task_id)

    assert person.types("logs", "-n", "2", task_id).out == f"5\n{task_id}.2\n"
    assert person.types("logs", "-n", "1", f"{task_id}.1").out == f"{task_id}.1\n"
    assert "has no run '3'" in person.types("logs", f"{task_id}.3", code=3).err


@pytest.mark.spec("O9")
def test_following_shows_output_as_it_comes_and_ends_with_the_run(person: Person) -> None:
    task_id = person.starts("--stdin", "echo before; read line; echo after")
    person.waits_for_output(task_id, "before")
    answers: list[str] = []
    reader = threading.Thread(target=lambda: answers.append(person.types("logs", "-f", task_id).out))
    reader.start()
    person.types("send", task_id, "go")
    reader.join(20)

    assert answers == ["before\nafter\n"]


@pytest.mark.spec("O9")
def test_following_begins_before_the_task_does(person: Person) -> None:
    first = person.starts("--stdin", "echo up; read line")
    second = person.starts("--after", first, "echo finally")
    answers: list[str] = []
    reader = threading.Thread(target=lambda: answers.append(person.types("logs", "-f", second).out))
    reader.start()
    person.waits_for_output(first, "up")
    person.types("send", first, "go")
    reader.join(60)

    assert answers == ["finally\n"]


@pytest.mark.spec("O6")
def test_a_capped_log_shows_how_much_is_missing(person: Person) -> None:
    task_id = person.finishes("--output-cap", "4096", "seq 10000")
    text = person.types("logs", task_id).out

    assert text.startswith("1\n2\n3\n")
    assert text.endswith("9999\n10000\n")
    assert "bytes not kept" in text
    assert person.sees(task_id)["truncated"] is True
    assert "the middle was not kept" in person.types("show", task_id).out


@pytest.mark.spec("O4", "X7")
def test_waiting_has_no_limit_by_default_and_shows_output_so_far(person: Person) -> None:
    task_id = person.starts("--stdin", "echo so far; read line; exit 5")
    person.waits_for_output(task_id, "so far")
    answer = person.types("wait", "--timeout", "0.1s", task_id, code=124)
    as_object = person.types("wait", "-t", "0", "--json", task_id, code=124).object
    person.types("send", task_id, "go")

    assert "● running" in answer.out
    assert "\nso far\n" in answer.out
    assert (as_object["state"], as_object["output_tail"]) == ("running", "so far\n")
    assert person.types("wait", task_id, code=5).out.startswith(f"{task_id}  ✗ failed")


@pytest.mark.spec("L13", "X7")
def test_waiting_for_several_reports_each_and_exits_with_the_first_failure(person: Person) -> None:
    ids = [person.starts("--batch", "several", command) for command in ("exit 0", "exit 4", "exit 9")]
    other = person.starts("sleep 600")
    answer = person.types("wait", *ids, code=4)
    batch = person.types("wait", "--batch", "several", "--json", code=4)

    assert [line.split()[0] for line in answer.out.splitlines()] == ids
    assert {view["id"]: view["exit_code"] for view in batch.objects} == dict(zip(ids, (0, 4, 9), strict=True))
    assert person.types("wait", "-q", *ids, code=4).out == ""
    person.types("cancel", other)


@pytest.mark.spec("L4", "X7")
def test_a_unique_prefix_of_an_id_is_enough(person: Person) -> None:
    one = person.finishes("--name", "alphabet", "true")
    two = person.finishes("--name", "alphorn", "true")

    assert person.types("wait", "alphab").out.startswith(one)
    ambiguous = person.types("restart", "alph", code=3).err.splitlines()
    assert ambiguous[0] == "errands: 'alph' matches several tasks, newest first:"
    assert ambiguous[1].startswith(f"  {two}  completed, created ")
    assert ambiguous[2].startswith(f"  {one}  completed, created ")
    assert ambiguous[3] == f"Type more of the id; the full id of the newest is {two}"


@pytest.mark.parametrize(
    "verb",
    ["show", "logs", "wait", "cancel", "stop", "restart", "clear", "approve", "reject", "audit"],
    ids=lambda verb: str(verb),
)
@pytest.mark.spec("X7")
@pytest.mark.fault("F54")
def test_an_unknown_id_is_not_found_whatever_the_verb(person: Person, verb: str) -> None:
    for nothing in (
        "nothing-222222",
        "../../etc/passwd",
        "%2e%2e%2f",
        "x" * 4096,
        "\uff52\uff4d",
        "\x1b[2J",
        "",
    ):
        answer = person.types(verb, nothing, code=3)

        assert answer.err.startswith("errands: ")
        assert "\x1b" not in answer.err
        assert "errands ls" in answer.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["clear"], "say what to remove: ids, --batch"),
        (["ls", "--watch", "--json"], "give either --watch or --json, not both"),
        (["ls", "--watch"], "--watch needs a terminal"),
        (["logs", "--tail", "3", "--offset", "3", "x"], "give either --tail or --offset, not both"),
        (["logs", "--json", "-f", "x"], "leave out --follow"),
        (["show", "a", "b"], "show does not take 'b'"),
        (["wait", "--timeout", "-3s", "x"], "--timeout: '-3s' is not a duration"),
    ],
)
def test_what_makes_no_sense_is_refused(person: Person, words: list[str], complaint: str) -> None:
    assert complaint in person.types(*words, code=2).err


@pytest.mark.spec("X7")
def test_a_reader_that_goes_away_is_not_an_error(person: Person) -> None:
    import subprocess

    from tests.frontends.cli.person import COMMAND

    task_id = person.finishes("seq 100000")
    shell = f"set -o pipefail; '{COMMAND[0]}' -m errands logs {task_id} | head -1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, env=person.environ, check=False)

    assert done.stdout == b"1\n"
    assert done.stderr == b""
    assert done.returncode == 141


def test_a_full_disk_behind_the_output_is_reported(person: Person) -> None:
    import subprocess

    from tests.frontends.cli.person import COMMAND

    person.finishes("true")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "ls"], stdout=full, stderr=subprocess.PIPE, env=person.environ, check=False
        )

    assert done.returncode == 1
    assert done.stderr.endswith(b"cannot continue: No space left on device; free some space and try again\n")


def test_the_commands_of_an_agent_are_listed_under_it_and_only_on_request(newcomer: Person) -> None:
    newcomer.types("ask", "-q", "--wait", "`echo one` `echo two`")
    other = newcomer.finishes("true")
    agent = next(view["id"] for view in newcomer.types("ls", "--json").objects if view["agent"])
    rows = [line.split()[0] for line in newcomer.types("ls").out.splitlines()[1:]]
    assert rows == [other, agent]

    listed = newcomer.types("ls", "--json").objects
    commands = {view["id"]: view["command"] for view in listed if view["parent_task"] == agent}
    assert list(commands.values()) == ["echo two", "echo one"]
    under = [line.split()[:2] for line in newcomer.types("ls", "--all").out.splitlines()[3:]]
    assert under == [["└", each] for each in reversed(commands)]


def test_a_command_of_an_agent_that_waits_for_approval_is_listed(newcomer: Person) -> None:
    newcomer.types("ask", "-q", "`rm -r nothing`")
    (command,) = [view["id"] for view in _until_proposed(newcomer)]
    assert f"└ {command}" in newcomer.types("ls").out
    assert f"errands approve {command}" in newcomer.types("ls").out
    assert command in newcomer.types("ls", "--state", "proposed").out


def _until_proposed(person: Person) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := [each for each in person.types("ls", "--json").objects if each["state"] == "proposed"]:
            return found
    raise AssertionError("nothing was proposed")
