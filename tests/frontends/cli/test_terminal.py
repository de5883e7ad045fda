"""What only happens at a terminal: keys, redrawn lines, colours, widths."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pexpect
import pytest

from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import INTERRUPT, SUSPEND, Terminal, ended, plain
from tests.gate import Gate


def started(child: pexpect.spawn[str]) -> str:
    """Read up to the id of the task that a command has started."""
    child.expect(r"started (\S+)")
    assert isinstance(child.match, re.Match)
    return str(child.match.group(1))


@pytest.mark.spec("L22")
@pytest.mark.trap(27)
def test_ctrl_z_leaves_the_task_to_the_background_and_loses_no_byte(
    person: Person, terminal: Terminal, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    script = f"echo $$ >> {tmp_path}/starts; echo line 1; echo line 2; cat {gate.path}; echo line 3; exit 7"
    child = terminal.types("run", "--wait", "--name", "slow", "--cwd", str(tmp_path), script)
    task_id = started(child)
    child.expect_exact("  (Ctrl-Z leaves it running, Ctrl-C twice cancels it)")
    child.expect("line 2")
    child.send(SUSPEND)
    said, code = ended(child)

    assert f"{task_id} continues in the background: errands logs -f {task_id}" in said
    assert code == 124
    gate.opens()
    assert person.types("wait", task_id, code=7).code == 7
    assert person.types("logs", task_id).out == "line 1\nline 2\nline 3\n"
    assert (tmp_path / "starts").read_text().count("\n") == 1


@pytest.mark.spec("L22")
def test_one_ctrl_c_leaves_the_task_running(person: Person, terminal: Terminal) -> None:
    child = terminal.types("run", "--wait", "--stdin", "echo up; read line; exit 6")
    task_id = started(child)
    child.expect("up")
    child.send(INTERRUPT)
    child.expect(f"leaving {task_id} running; Ctrl-C again cancels it")
    said, code = ended(child)

    assert f"{task_id} continues in the background" in said
    assert code == 130
    assert person.sees(task_id)["state"] == "running"
    person.types("send", task_id, "go")
    assert person.types("wait", task_id, code=6).code == 6


@pytest.mark.spec("L22", "L9")
def test_a_second_ctrl_c_cancels_the_task_and_shows_its_last_words(
    person: Person, terminal: Terminal
) -> None:
    child = terminal.types(
        "run", "--wait", "trap 'echo farewell; exit 1' TERM; echo up; while :; do sleep 0.05; done"
    )
    task_id = started(child)
    child.expect("up")
    child.send(INTERRUPT)
    child.expect("again cancels it")
    child.send(INTERRUPT)
    child.expect(f"cancelling {task_id}")
    said, code = ended(child)

    assert "farewell" in said
    assert "cancelled" in said
    assert code not in (0, 124, 130)
    assert person.sees(task_id)["state"] == "cancelled"


@pytest.mark.spec("L22")
def test_a_waiting_command_that_is_killed_leaves_the_task_running(person: Person, terminal: Terminal) -> None:
    child = terminal.types("run", "--wait", "--stdin", "echo up; read line; exit 3")
    task_id = started(child)
    child.expect("up")
    child.kill(signal.SIGKILL)

    assert person.sees(task_id)["state"] == "running"
    person.types("send", task_id, "go")
    assert person.types("wait", task_id, code=3).code == 3


def test_the_end_of_an_attached_task_is_shown(terminal: Terminal) -> None:
    said, code = ended(terminal.types("run", "--wait", "echo hello; exit 2"))

    assert re.search(r"hello\r\n.*✗ failed.* in \S+ · exit 2\r\n$", plain(said))
    assert code == 2


@pytest.mark.spec("O4")
def test_waiting_shows_a_live_line_and_ctrl_c_only_stops_waiting(person: Person, terminal: Terminal) -> None:
    task_id = person.starts("--stdin", "echo '::progress 1/2 half way'; read line")
    person.waits_for_output(task_id, "half way")
    child = terminal.types("wait", task_id)
    child.expect("50%.*Ctrl-C stops waiting")
    child.send(INTERRUPT)
    said, code = ended(child)

    assert "stopped waiting; it continues in the background" in said
    assert code == 130
    assert person.sees(task_id)["state"] == "running"
    child = terminal.types("wait", task_id)
    child.expect("● running")
    person.types("send", task_id, "go")
    said, code = ended(child)
    assert code == 0
    assert "✓ completed" in plain(said)


@pytest.mark.spec("O9")
def test_ctrl_c_ends_following_without_affecting_the_task(person: Person, terminal: Terminal) -> None:
    task_id = person.starts("--stdin", "echo up; read line")
    child = terminal.types("logs", "-f", task_id)
    child.expect("up")
    child.send(INTERRUPT)
    _, code = ended(child)

    assert code == 130
    assert person.sees(task_id)["state"] == "running"
    person.types("cancel", task_id)


@pytest.mark.spec("L24")
def test_a_prompt_without_a_newline_is_shown_while_the_task_waits(person: Person, terminal: Terminal) -> None:
    child = terminal.types("run", "--wait", "--pty", "read -p 'continue? [y/N]' answer; echo got $answer")
    task_id = started(child)
    child.expect(re.escape("continue? [y/N]"))
    person.types("send", task_id, "y")
    said, code = ended(child)

    assert "got y" in said
    assert code == 0


def test_the_list_fits_the_terminal_and_is_coloured(person: Person, terminal: Terminal) -> None:
    person.finishes("--description", "a very long description " * 10, "true")
    said, _ = ended(terminal.types("ls", columns=70))

    assert [line for line in plain(said).splitlines() if len(line) > 70] == []
    assert "\x1b[32m✓ completed\x1b[0m" in said
    assert "…" in said
    colourless, _ = ended(terminal.types("ls", columns=70, NO_COLOR="1"))
    assert "\x1b[" not in colourless


def test_a_terminal_without_unicode_gets_ascii(person: Person, terminal: Terminal) -> None:
    person.finishes("false")
    said, _ = ended(terminal.types("ls", PYTHONIOENCODING="ascii"))

    assert "x failed" in plain(said)
    assert said.isascii()


def test_a_watched_list_shows_changes_as_they_happen(person: Person, terminal: Terminal) -> None:
    task_id = person.starts("--name", "watched", "--stdin", "read line; exit 5")
    child = terminal.types("ls", "--watch")
    child.expect(f"{task_id}.*● running")
    person.types("send", task_id, "go")
    child.expect(f"{task_id}.*✗ failed.*exit 5")
    child.send(INTERRUPT)
    _, code = ended(child)

    assert code == 0


@pytest.mark.spec("O15")
@pytest.mark.trap(9)
def test_a_live_task_cannot_control_the_terminal(terminal: Terminal) -> None:
    said, _ = ended(
        terminal.types("run", "--wait", r"printf '\033]0;owned\007\033[2J\033[32mgreen\033[0m\n'")
    )

    assert "\x1b[32mgreen\x1b[0m" in said
    assert "\x1b[2J" not in said
    assert "\x1b]" not in said
    assert "owned" not in said


@pytest.mark.spec("L24")
def test_what_is_typed_goes_to_the_attached_task(terminal: Terminal) -> None:
    child = terminal.types("run", "--wait", "--stdin", "while read line; do echo got $line; done; echo over")
    started(child)
    child.sendline("one")
    child.expect_exact("got one")
    child.sendline("two")
    child.expect_exact("got two")
    child.sendeof()

    said, code = ended(child)
    assert ("over" in said, code) == (True, 0)


@pytest.mark.spec("O10")
def test_a_narrow_list_keeps_the_time_left_and_clips_the_description(
    person: Person, terminal: Terminal
) -> None:
    task_id = person.starts("--stdin", "--description", "pack " * 20, "echo '::progress 3/4'; read line")
    person.waits_for_output(task_id, "3/4")
    listed, _ = ended(terminal.types("ls", "-n", "1", columns=80))
    person.types("cancel", task_id)

    assert re.search(r" 75% · \S+ left", plain(listed))
    assert re.search(r" pack pack[ pack]*…", plain(listed))


@pytest.mark.spec("O15")
def test_json_cannot_control_the_terminal_either(person: Person) -> None:
    evil = "x\x9b31m\u202egnp.exe\u2066\x7f\U000e0041"
    task_id = person.finishes("--description", evil, "true")

    for words in (["show", task_id], ["ls"], ["trace", task_id], ["audit", task_id]):
        said = person.types(*words, "--json").out
        assert [c for c in said if c in evil and not c.isprintable()] == []
    assert person.sees(task_id)["description"] == evil


@pytest.mark.spec("O12")
def test_a_read_that_begins_inside_a_secret_shows_nothing_of_it(person: Person) -> None:
    secret, word = "s3cret-0f-many-w0rds", "x" * 100
    task_id = person.finishes("--env", f"API_TOKEN={secret}", f"printf '{word}=%s {word}\\n' $API_TOKEN")
    begin = len(word) + 1

    for offset in (begin + 1, begin + 9, begin + len(secret) - 3):
        for words in (["--json"], []):
            said = person.types("logs", "--offset", str(offset), *words, task_id).out
            assert f"[masked: API_TOKEN] {word}" in said
            assert secret[offset - begin :] not in said
            assert word + "=" not in said
    assert person.types("logs", "--raw", "--offset", str(begin + 3), task_id).out == f"{secret[3:]} {word}\n"
