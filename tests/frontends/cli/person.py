"""A person who types commands: real processes, on a home of their own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.frontends.cli.commands import COMMAND as COMMAND
from tests.frontends.cli.commands import run

PAUSE = 0.25  # seconds between two looks if nothing changes; each takes 13 ms of processor time
STARTS = (("run",), ("restart",), ("template", "run"))


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    out: str
    err: str
    code: int

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def object(self) -> dict[str, Any]:
        assert len(self.objects) == 1, self
        return self.objects[0]

    @property
    def proposal(self) -> str:
        """The id in what is said about a proposal."""
        assert self.out.startswith("proposed "), self
        return self.out.split()[1].rstrip(":")


class Person:
    def __init__(self, home: Path, cwd: Path) -> None:
        self.home = home
        self.cwd = cwd
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("ERRANDS_", "XDG_"))
        }
        self.environ = {**kept, "ERRANDS_HOME": str(home), "XDG_CONFIG_HOME": f"{home}-config", "USER": "ada"}

    def types(
        self,
        *words: str,
        code: int | None = 0,
        given: str | bytes = b"",
        cwd: Path | None = None,
        yes: bool = True,
        **environ: str,
    ) -> Answer:
        """Type a command and read its answer; a code that was not expected fails the test.

        There is no terminal here, so verbs that start something pass `--yes`, unless `yes` is false.
        """
        if yes and words[:1] in STARTS:
            words = (words[0], "--yes", *words[1:])
        elif yes and words[:2] in STARTS:
            words = (*words[:2], "--yes", *words[2:])
        done = run(
            words,
            given=given.encode() if isinstance(given, str) else given,
            cwd=cwd or self.cwd,
            environ={**self.environ, **environ},
        )
        answer = Answer(
            out=done.stdout.decode("utf-8", "surrogateescape"),
            err=done.stderr.decode("utf-8", "surrogateescape"),
            code=done.returncode,
        )
        assert code is None or answer.code == code, f"errands {' '.join(words)}: {answer}"
        return answer

    def configures(self, text: str) -> Path:
        """Write the user's configuration; return its file."""
        file = Path(self.environ["XDG_CONFIG_HOME"], "errands", "config.toml")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def starts(self, *words: str) -> str:
        """Start a task; return its id."""
        return self.types("run", "-q", *words).out.strip()

    def finishes(self, *words: str) -> str:
        """Start a task and wait until it has ended; return its id."""
        task_id = self.starts(*words)
        self.types("wait", "-q", task_id, code=None)
        return task_id

    def sees(self, task_id: str) -> dict[str, Any]:
        return self.types("show", task_id, "--json").object

    def waits_until(self, task_id: str, key: str, value: object) -> dict[str, Any]:
        """Look at a task until one of its facts is as expected."""
        for view in self._looks(task_id):
            if view[key] == value:
                return view
        raise AssertionError(f"{task_id} never had {key} = {value!r}")

    def waits_for_output(self, task_id: str, text: str) -> None:
        for view in self._looks(task_id):
            if text in view["output_tail"]:
                return
        raise AssertionError(f"{task_id} never printed {text!r}")

    def waits_until_reported(self, task_id: str, *, owner: str = "user") -> None:
        """Wait until a notice about a task lies in its owner's inbox; looking does not take it out."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            before = self._traces(task_id)
            if task_id in self.types("notices", "--peek", "--json", "--owner", owner).out:
                return
            self._waits_for_a_change(task_id, before)
        raise AssertionError(f"there was no notice about {task_id}")

    def leaves(self) -> None:
        """Clean up: no task and no daemon outlives the test."""
        live = self.types("ls", "--json", "--state", "running", "--state", "pending", code=None)
        if live.code == 0 and live.out:
            self.types("cancel", *(view["id"] for view in live.objects), code=None)
        self.types("daemon", "stop", code=None)

    def _looks(self, task_id: str) -> Iterator[dict[str, Any]]:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            before = self._traces(task_id)
            yield self.sees(task_id)
            self._waits_for_a_change(task_id, before)

    def _waits_for_a_change(self, task_id: str, before: list[tuple[int, int]]) -> None:
        """Wait until the store or the files of a task differ from before: then it is worth a command."""
        deadline = time.monotonic() + PAUSE
        while self._traces(task_id) == before and time.monotonic() < deadline:
            time.sleep(0.005)

    def _traces(self, task_id: str) -> list[tuple[int, int]]:
        files = [self.home / "errands.db-wal", *self.home.glob(f"runs/{task_id}*/*")]
        found = []
        for file in files:
            with suppress(OSError):
                facts = file.stat()
                found.append((facts.st_mtime_ns, facts.st_size))
        return found
