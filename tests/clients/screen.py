"""A program as a person sees it: on a terminal of 80 columns and 24 lines, in tmux."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from tests.clients.opencode_session import A_PERSON_TAKES, waited_for
from tests.frontends.cli.person import Person

_numbers = count(1)


class Screen:
    def __init__(self, person: Person, command: Sequence[str]) -> None:
        """Start a command in the person's directory."""
        tmux = shutil.which("tmux")
        if tmux is None:
            pytest.skip("tmux is not installed")
        self._tmux = [tmux, "-L", f"errands-screen-{os.getpid()}-{next(_numbers)}", "-f", os.devnull]
        size = ["-x", "80", "-y", "24"]
        environ = {**person.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        environ.pop("CI", None)  # there is a person here; Gemini CLI would not even draw itself
        self._call("new-session", "-d", *size, *command, cwd=person.cwd, env=environ)

    def presses(self, *keys: str) -> None:
        self._call("send-keys", *keys)

    def types(self, text: str) -> None:
        self._call("send-keys", "-l", text)
        self._call("send-keys", "Enter")

    def prompts(self, text: str) -> None:
        """Type lines as one prompt, and send it once all of it is there to be read.

        Gemini CLI takes an Enter right behind other keys for part of what was pasted, so it is pressed
        as late as a person would.
        """
        first, *others = text.splitlines()
        self._call("send-keys", "-l", first)
        for line in others:
            self._call("send-keys", "C-j")
            self._call("send-keys", "-l", line)
        self.shows((others or [first])[-1])
        time.sleep(A_PERSON_TAKES)
        self._call("send-keys", "Enter")

    def text(self) -> str:
        done = subprocess.run(
            [*self._tmux, "capture-pane", "-p"], capture_output=True, text=True, check=False
        )
        return done.stdout

    def shows(self, *texts: str) -> None:
        try:
            waited_for(lambda: all(text in self.text() for text in texts))
        except AssertionError:
            raise AssertionError(f"{texts} did not appear:\n{self.text()}") from None

    def close(self) -> None:
        """Close the terminal and end the program, which may not mind that: Gemini CLI would go on."""
        asked = [*self._tmux, "list-panes", "-F", "#{pane_pid}"]
        groups = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)
        for group in map(int, groups):
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def _call(self, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
        subprocess.run([*self._tmux, *words], cwd=cwd, env=env, check=True)
