"""A home with a little of everything, for looking at: what people see of it is kept in `goldens/`.

Tasks are started with the real program and really run; afterwards their times are set to round ones, because
how long a task took on this machine is nothing to compare.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from errands import __version__
from tests.frontends.cli.commands import run, run_on_terminal
from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import plain

MINUTE = 60
CONFIG = """
[lanes]
gpu = 1
"""


class Scene(Person):
    """A person with many tasks, at one moment."""

    def __init__(self) -> None:
        # Always equally long, so that lines break at the same places.
        self.place = Path(tempfile.mkdtemp(prefix="errands-", dir="/tmp"))
        self.project = self.place / "shop"
        self.project.mkdir()
        super().__init__(self.place / "home", self.project)
        self.environ |= {
            "HOME": str(self.place),
            "TZ": "UTC",
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "NO_COLOR": "1",
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        }
        self.at = datetime.now(UTC).replace(microsecond=0)
        self.configures(CONFIG)
        self._build()
        self._set_times()

    def does(self, *words: str, seed: str = "", code: int | None = 0) -> str:
        """Run a command without a terminal; return what it printed on standard output."""
        frozen = self._frozen(seed or " ".join(words))
        done = run(words, given=b"", cwd=self.project, environ=self.environ, frozen=frozen)
        assert code is None or done.returncode == code, (words, done)
        return done.stdout.decode()

    def captures(self, *words: str, columns: int) -> str:
        """Run a command on a terminal; return what the terminal got, without what differs every time."""
        frozen = self._frozen(f"{columns} {' '.join(words)}")
        said = run_on_terminal(words, columns=columns, cwd=self.project, environ=self.environ, frozen=frozen)
        return self.masked(plain(said).replace("\r", ""))

    def masked(self, text: str) -> str:
        """Replace what differs every time by something as wide."""
        text = text.replace(self.place.name, "errands-examples")
        # The agent's process has given its command an id; in a narrow list that is shortened.
        for end in range(len(self._command), len("echo-"), -1):
            # It is random, and may begin like the id of the agent's own task.
            text = re.sub(rf"{self._command[:end]}(?![\w-])", "echo-222222"[:end], text)
        text = text.replace(f"version {__version__}", "version 1.2.3")
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-11-16 09:00", text)
        text = re.sub(r"09:00:\d\d", "09:00:00", text)
        text = re.sub(r"\b[0-9a-f]{64}\b", "5eed" * 16, text)
        text = re.sub(r"\b[0-9a-f]{32}\b", "5eed" * 8, text)
        text = re.sub(r"\b[0-9a-f]{16}\b", "5eed" * 4, text)
        return re.sub(r"(process|pid|daemon)(\s+)\d{2,}", r"\g<1>\g<2>12345", text)

    def leaves(self) -> None:
        super().leaves()
        shutil.rmtree(self.place, ignore_errors=True)

    def _frozen(self, seed: str) -> tuple[str, str]:
        return self.at.isoformat(), seed

    def _starts(self, name: str, *words: str) -> str:
        return self.does("run", "-q", "--yes", "--name", name, *words).strip()

    def _build(self) -> None:
        """Start and end tasks in every way that lists have to show."""
        ended = [
            self._starts("build-docs", "--batch", "nightly", "seq 3; echo '12 pages written'"),
            self._starts(
                "unit-tests",
                *("--batch", "nightly", "--description", "the unit tests of the shop, on every commit"),
                "printf 'FAILED test_cart.py::test_total\\n== 2 failed, 40 passed in 3.10s ==\\n'; exit 3",
            ),
            self._starts("unicode", "--description", "レポートを作る 🚀 für die Übersicht des café", "true"),
            self.does("ask", "-q", "`echo hello from the shop`").strip(),
        ]
        self.does("wait", "-q", *ended, code=None)
        held = [
            self._starts(
                "train-model", *HOLDS, "--lane", "gpu", "echo '::progress 3/4 epoch 3 of 4'; read line"
            ),
            self._starts("dev-server", *HOLDS, "--batch", "nightly", "echo listening; read line"),
            self._starts("odd-ending", *HOLDS, "echo 'Traceback: this is not the reason'; read line"),
        ]
        for task_id, text in zip(held, ("epoch", "listening", "Traceback"), strict=True):
            self._until(task_id, text)
        self.does("cancel", held[2])
        for number in range(1, 9):
            self._starts(f"gpu-job-{number}", "--lane", "gpu", f"echo job {number}")
        self._starts("deploy", "--after", held[1], "--batch", "nightly", "echo deploying")
        self._starts("report", "--at", "in 2h", "echo report")
        self._starts("backup", "--every", "1h", "echo backing up")
        self.does("run", "-q", "--name", "clean", "rm -rf build", code=4)
        rejected = self.does("run", "-q", "--name", "wipe", "rm -rf /tmp/nowhere", code=4).strip()
        self.does("reject", rejected)
        self.does("template", "save", "greet", "echo hello {{name=world}}")

    def _until(self, task_id: str, text: str) -> None:
        deadline = time.monotonic() + 120
        while text not in self.does("logs", task_id):
            assert time.monotonic() < deadline, f"{task_id} never printed {text}"
            time.sleep(0.02)

    def _set_times(self) -> None:
        """Set the times of tasks and runs to round ones before the moment, the oldest first."""
        at = int(self.at.timestamp())

        def ago(seconds: float) -> int:
            return int((at - seconds) * 1_000_000)

        db = sqlite3.connect(self.home / "errands.db", timeout=60)
        with db:
            tasks = db.execute("SELECT seq, id FROM tasks ORDER BY seq DESC").fetchall()
            [(self._command,)] = db.execute("SELECT id FROM tasks WHERE created_by LIKE 'run %'").fetchall()
            for place, (seq, task_id) in enumerate(tasks, 1):
                created = place * 4 * MINUTE + 30
                db.execute(
                    "UPDATE tasks SET created_at = ?, updated_at = ? WHERE seq = ?",
                    (ago(created), ago(created - 90), seq),
                )
                db.execute(
                    "UPDATE tasks SET approved_at = created_at WHERE seq = ? AND approved_at IS NOT NULL",
                    (seq,),
                )
                db.execute("UPDATE runs SET created_at = ? WHERE task = ?", (ago(created), seq))
                started = "UPDATE runs SET started_at = ? WHERE task = ? AND started_at IS NOT NULL"
                db.execute(started, (ago(created - 2), seq))
                ended = "UPDATE runs SET completed_at = ?, elapsed = 83.5 WHERE task = ? AND completed_at > 0"
                db.execute(ended, (ago(created - 85.5), seq))
                if task_id.startswith("report"):
                    due = int((at + 2 * 60 * MINUTE) * 1_000_000)
                    db.execute("UPDATE runs SET not_before = ? WHERE task = ?", (due, seq))
                    db.execute("UPDATE tasks SET due_at = ? WHERE seq = ?", (due, seq))
            db.execute("UPDATE hearings SET next_at = ?", (int((at + 43 * MINUTE) * 1_000_000),))
            db.execute("UPDATE outbox SET created_at = ?", (ago(5 * MINUTE),))
            db.execute(
                "UPDATE outbox SET body = json_set(body, '$.elapsed', 83.5) WHERE body ->> '$.elapsed' > 0"
            )
            db.execute("UPDATE sessions SET created_at = ?", (ago(70 * MINUTE),))
            week = int((self.at + timedelta(days=6, hours=23)).timestamp()) * 1_000_000
            db.execute("UPDATE approvals SET asked_at = ?, expires_at = ?", (ago(9 * MINUTE), week))
            db.execute("UPDATE approvals SET at = ? WHERE at IS NOT NULL", (ago(8 * MINUTE),))
        db.close()
        activity = at - 12
        for log in self.home.glob("runs/*/output.log"):
            os.utime(log, (activity, activity))


HOLDS = ("--stdin",)
