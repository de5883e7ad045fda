"""A person's terminal: real keys, a real pseudo-terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pexpect

from tests.frontends.cli.person import COMMAND, Person

SUSPEND, INTERRUPT, END = "\x1a", "\x03", "\x04"


class Terminal:
    """Where a person types; what is still open at the end is closed."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._open: list[pexpect.spawn[str]] = []

    def types(
        self, *words: str, lines: int = 24, columns: int = 100, cwd: Path | None = None, **environ: str
    ) -> pexpect.spawn[str]:
        return self.starts([*COMMAND, *words], lines=lines, columns=columns, cwd=cwd, **environ)

    def starts(
        self,
        command: list[str],
        *,
        lines: int = 24,
        columns: int = 100,
        cwd: Path | None = None,
        **environ: str,
    ) -> pexpect.spawn[str]:
        """Start any program on a terminal, which alone says how large it is."""
        ours = {
            name: value for name, value in self._person.environ.items() if name not in ("COLUMNS", "LINES")
        }
        child = pexpect.spawn(
            command[0],
            command[1:],
            env={**ours, "TERM": "xterm", **environ},
            cwd=str(cwd or self._person.cwd),
            dimensions=(lines, columns),
            encoding="utf-8",
            timeout=60,
        )
        self._open.append(child)
        return child

    def close(self) -> None:
        for each in self._open:
            each.close(force=True)


def ended(child: pexpect.spawn[str]) -> tuple[str, int]:
    """Read until the command ends; return what it printed and its exit code."""
    child.expect(pexpect.EOF)
    said = child.before or ""
    child.close()
    assert child.exitstatus is not None, f"died of signal {child.signalstatus}: {said}"
    return said, child.exitstatus


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)
