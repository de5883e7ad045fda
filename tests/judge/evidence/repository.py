"""A real repository for each test, in which git can be made to run a program."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from errands.judge.evidence.local_workspace import LocalWorkspace

QUIET = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "protocol.file.allow",
    "GIT_CONFIG_VALUE_0": "always",
}


class Repository:
    """A repository with one commit, and a program that leaves a mark when it is run."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True)
        self.path = path
        self.mark = path.parent / f"{path.name}.ran"
        self.evil = path.parent / f"{path.name}.evil"
        self.evil.write_text(f"#!/bin/sh\ntouch {self.mark}\ncat 2>/dev/null\nexit 0\n")
        self.evil.chmod(0o755)
        self.git("init", "-q", "-b", "main")
        self.write("a.txt", "one\n")
        self.write("same.txt", "the same\n")
        self.git("add", ".")
        self.git("commit", "-qm", "first")

    def git(self, *words: str, cwd: Path | None = None, check: bool = True) -> str:
        environment = QUIET | {"HOME": str(self.path.parent)}
        done = subprocess.run(
            ["git", *words],
            cwd=cwd or self.path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def runs_it(self, *words: str, cwd: Path | None = None) -> bool:
        """Return whether a harmless git command runs the program that leaves a mark."""
        self.mark.unlink(missing_ok=True)
        self.write("a.txt", "two\n")
        # The content as before at another time: git has to refresh its index, however slow the machine is.
        self.write("same.txt", "the same\n")
        os.utime(self.path / "same.txt", (1_000_000_000, time.time()))
        self.git(*words, cwd=cwd, check=False)
        return self.mark.exists()

    def dangers(self, where: str = ".") -> tuple[str, ...]:
        return LocalWorkspace(str(self.path / where), {"HOME": str(self.path.parent)}).git_dangers(
            str(self.path / where)
        )
