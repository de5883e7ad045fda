"""OpenCode as a person sees it: its program on a terminal of 80 columns and 24 lines, in tmux."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import count
from pathlib import Path

import pytest

from tests.clients.opencode_session import waited_for
from tests.clients.programs import program
from tests.frontends.cli.person import Person

_numbers = count(1)
READY = "fake Fake"  # the model and its provider, below the line for prompts


class Tui:
    def __init__(self, person: Person, environ: dict[str, str], *words: str) -> None:
        """Start it in the person's project; `environ` is what OpenCode needs."""
        tmux = shutil.which("tmux")
        if tmux is None:
            pytest.skip("tmux is not installed")
        socket = f"errands-{os.getpid()}-{next(_numbers)}"
        self._tmux = [tmux, "-L", socket, "-f", os.devnull]
        self._types(
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            program("opencode"),
            *words,
            cwd=person.cwd,
            env=environ,
        )
        try:
            waited_for(lambda: READY in self.screen())
        except AssertionError:
            self.close()
            raise

    def prompts(self, text: str) -> None:
        """Type a prompt and send it."""
        first, *others = text.splitlines()
        self._types("send-keys", "-l", first)
        for line in others:
            self._types("send-keys", "C-j")
            self._types("send-keys", "-l", line)
        last = text.splitlines()[-1]
        waited_for(lambda: f"┃  {last}" in self.screen())
        self._types("send-keys", "Enter")

    def says(self, words: str) -> None:
        """Wait until the model says something; a prompt on the screen has a bar before it."""
        waited_for(lambda: any(each.strip().startswith(words) for each in self.screen().splitlines()))

    def is_left(self) -> None:
        """Leave OpenCode with Ctrl-C, as the person does."""
        self._types("send-keys", "C-c")
        waited_for(lambda: not self.screen())

    def screen(self) -> str:
        shown = subprocess.run(
            [*self._tmux, "capture-pane", "-p"], capture_output=True, text=True, check=False
        )
        return shown.stdout

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    def _types(self, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
        subprocess.run([*self._tmux, *words], cwd=cwd, env=env, check=True)
