"""The terminal: a shell in a pseudo-terminal, a person who types, and deliveries that come in between."""

from __future__ import annotations

import os
import pty
import re
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from errands.channels import terminal
from errands.model.errors import NotNow, Refused
from errands.ports.home import Home, process_mark
from tests.channels.deliveries import delivery, digest
from tests.engine.daemons import Daemons

PROMPT = "ready> "
ERRANDS = f"{sys.executable} -m errands"


class Shell:
    """A shell at whose prompt a person types."""

    def __init__(self, folder: Path) -> None:
        environ = {**os.environ, "PS1": PROMPT, "TERM": "xterm", "HISTFILE": "/dev/null"}
        self.child = pexpect.spawn(
            "bash",
            ["--norc", "--noprofile", "-i"],
            cwd=str(folder),
            env=environ,
            dimensions=(24, 90),
            encoding="utf-8",
            timeout=60,
        )
        self.types("bind 'set enable-bracketed-paste off'")

    def types(self, words: str) -> str:
        """Type a line; give what it printed."""
        self.child.sendline(words)
        self.child.expect(re.escape(PROMPT))
        return self.child.before or ""

    @property
    def target(self) -> str:
        pid = self.child.pid
        assert pid is not None
        return f"{os.readlink(f'/proc/{pid}/fd/0')}@{process_mark(pid)}"

    def close(self) -> None:
        self.child.close(force=True)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    shell.child.expect(re.escape(PROMPT))
    yield shell
    shell.close()


@pytest.mark.spec("N3")
def test_a_delivery_is_framed_with_the_name_of_its_task(shell: Shell) -> None:
    terminal.show(delivery(shell.target, summary="47 tests green"), 2000)
    shell.child.expect("─── background: pytest-222222 ─+\r")
    shell.child.expect("pytest-222222 completed in 2.5s")
    shell.child.expect("47 tests green")
    shell.child.expect("─{60,}\r")


@pytest.mark.spec("N3")
def test_the_line_being_typed_is_drawn_anew_and_runs_as_typed(shell: Shell) -> None:
    shell.child.send("echo half a li")
    shell.child.expect("half a li")
    terminal.show(delivery(shell.target), 2000)
    shell.child.expect("background: pytest-222222")
    shell.child.expect("─{60,}")
    shell.child.expect(re.escape(f"{PROMPT}echo half a li"))
    shell.child.sendline("ne")
    shell.child.expect("\nhalf a line\r")


def is_at_prompt(shell: Shell) -> bool:
    try:
        terminal.at_prompt(*shell.target.split("@"))
        return True
    except NotNow:
        return False


@pytest.mark.spec("N3")
def test_no_delivery_interrupts_a_running_program(shell: Shell) -> None:
    shell.child.sendline("cat")
    shell.child.expect("cat")
    deadline = time.monotonic() + 60
    while is_at_prompt(shell):
        assert time.monotonic() < deadline
    with pytest.raises(NotNow, match="a program runs in"):
        terminal.show(delivery(shell.target), 2000)
    shell.child.sendeof()
    shell.child.expect(re.escape(PROMPT))
    terminal.show(delivery(shell.target), 2000)
    shell.child.expect("background: pytest-222222")


@pytest.mark.trap(9)
def test_nothing_in_a_delivery_controls_the_terminal(shell: Shell) -> None:
    terminal.show(delivery(shell.target, error="\x1b[2J\x1b]0;title\x07 gone", answer="\x1b[31m\rred"), 2000)
    shell.child.expect("background: ")
    shell.child.expect("─{70,}\r")
    seen = shell.child.before or ""
    assert "gone" in seen
    assert "\x1b[2J" not in seen
    assert "\x1b]0" not in seen
    assert "\x1b[31m" not in seen


@pytest.mark.trap(5)
def test_a_terminal_of_another_shell_gets_nothing(shell: Shell) -> None:
    path, _, rest = shell.target.partition("@")
    pid, _, start = rest.partition(".")
    with pytest.raises(Refused, match="has ended"):
        terminal.show(delivery(f"{path}@{pid}.{int(start) - 1}"), 2000)
    with pytest.raises(Refused, match="has ended"):
        terminal.show(delivery(f"{path}@1.1"), 2000)
    with pytest.raises(Refused, match="is gone"):
        terminal.show(delivery(f"/dev/pts/none@{rest}"), 2000)
    with pytest.raises(Refused, match="not this user's terminal"):
        terminal.show(delivery(f"/etc/passwd@{rest}"), 2000)


def test_a_terminal_that_is_stopped_takes_it_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0.05)
    ours, theirs = pty.openpty()
    termios.tcflow(theirs, termios.TCOOFF)
    try:
        with pytest.raises(NotNow, match="Ctrl-S"):
            terminal.show(delivery(os.ttyname(theirs)), 2000)
    finally:
        os.close(theirs)
        os.close(ours)


def test_a_digest_names_several_tasks() -> None:
    lines = terminal.drawn(digest("", 10), 2000, 80).split("\r\n")
    assert "background: several tasks" in lines[1]
    assert len(lines[1].removeprefix("\x1b[K")) == len(lines[-2].removeprefix("\x1b[K")) == 79


@pytest.mark.spec("N3", "N7", "N8")
def test_a_task_reports_to_the_terminal_it_was_started_from(
    daemons: Daemons, home: Home, shell: Shell
) -> None:
    said = shell.types(f"{ERRANDS} run --channel terminal --name nap -- sleep 0.3")
    assert "terminal and errands notices report when it ends" in " ".join(said.split())
    shell.child.expect("─── background: nap-.{6} ─+\r")
    shell.child.expect("nap-.{6} completed in")
    shell.child.expect(re.escape(PROMPT))


def test_the_command_that_tests_the_terminal_is_not_in_the_way(home: Home, shell: Shell) -> None:
    said = shell.types(f"{ERRANDS} channel test terminal")
    assert "background: errands" in said
    assert "sent a message to " in said


def test_without_a_terminal_there_is_none_to_report_to(home: Home, tmp_path: Path) -> None:
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "errands", "run", "--channel", "terminal", "--", "true"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        start_new_session=True,
    )
    Daemons(home).end()
    assert done.returncode == 2
    assert "this process has no terminal" in done.stderr
