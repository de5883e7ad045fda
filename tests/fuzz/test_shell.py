"""A real shell reads what the judge lets pass in the same way: nothing else starts, no file is made."""

from __future__ import annotations

import subprocess
from itertools import islice
from pathlib import Path

import pytest

from errands.judge.judge import judge
from tests.fuzz.edits import HARMFUL, HARMLESS, edited_lines
from tests.judge.fake_workspace import FakeWorkspace

NOTE = '#!/bin/sh\nprintf "%s\\n" "${0##*/}" >>"$NOTES"\n'


class Sandbox:
    """A directory where a shell only finds programs that log their own name."""

    def __init__(self, place: Path) -> None:
        self._bin, self._notes, self._work = place / "bin", place / "notes", place / "work"
        self._bin.mkdir()
        self._work.mkdir()
        self._notes.touch()
        (self._work / "a").write_text("kept\n")
        for name in (*HARMLESS, *HARMFUL):
            (self._bin / name).write_text(NOTE)
            (self._bin / name).chmod(0o755)

    def run(self, line: str) -> set[str]:
        """Run a line and return the programs that it started."""
        self._notes.write_text("")
        subprocess.run(
            ["/bin/bash", "--norc", "--noprofile", "-c", line],
            cwd=self._work,
            env={"PATH": str(self._bin), "NOTES": str(self._notes), "HOME": str(self._work)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
        )
        return set(self._notes.read_text().split())

    def files(self) -> dict[str, str]:
        return {each.name: each.read_text() for each in self._work.iterdir()}


@pytest.mark.spec("A3")
def test_a_line_that_passes_starts_nothing_harmful_and_writes_nothing(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    before = sandbox.files()
    passed = [
        line for line in islice(edited_lines(7), 4_000) if judge((line,), FakeWorkspace()).verdict == "auto"
    ]

    assert len(passed) >= 200, "the judge lets too few pass to say anything"
    for line in passed:
        assert sandbox.run(line) <= set(HARMLESS), line
        assert sandbox.files() == before, line


def test_the_sandbox_shows_what_a_harmful_line_does(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)

    assert sandbox.run("ls && $(touch x) | rm a") == {"ls", "touch", "rm"}
    assert sandbox.run("> w") == set()
    assert sandbox.files() == {"a": "kept\n", "w": ""}
