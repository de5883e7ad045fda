"""A scratch copy of the project in which the source can be broken."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import uuid
from dataclasses import dataclass
from pathlib import Path

from tests.proof.breakage import ROOT, Breakage
from tests.proof.first_failure import FAILS_WITH, REPORT, SPEC

_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__")
_MARK = "PROOF_TREE"
_LIMIT = 600  # seconds for all tests of a requirement
_TEST_LIMIT = 240  # seconds for one, which must be able to fail by itself first, on a busy machine as well


@dataclass(frozen=True)
class Outcome:
    """What pytest found: the tests that failed by their own verdict and otherwise, and how many passed."""

    caught: str
    how: str
    passed: int


class Tree:
    """Hold a copy of the project with an interpreter of its own that imports the copy."""

    def __init__(self, place: Path) -> None:
        self._mark = uuid.uuid4().hex
        self._place = place
        self._report = place / "report.json"
        self._project = place / "project"
        self._python = self._project / ".venv" / "bin" / "python"
        links = _installed()

        def left_out(folder: str, names: list[str]) -> set[str]:
            return _NOT_COPIED(folder, names) | {each.name for each in links if str(each.parent) == folder}

        shutil.copytree(ROOT, self._project, ignore=left_out)
        for each in links:
            (self._project / each.relative_to(ROOT)).symlink_to(each)
        self._make_interpreter()

    def run(self, breakage: Breakage, tests: list[str]) -> Outcome:
        """Run tests with a breakage in the source, and take it out again."""
        broken = breakage.broken(self._project)
        sound = {path: (path.read_bytes(), path.stat()) for path in broken}
        for path, text in broken.items():
            path.write_text(text)
        try:
            return self._pytest(tests, spec=breakage.spec, fails_with=breakage.fails_with)
        finally:
            for path, (content, found) in sound.items():
                path.write_bytes(content)
                # Compiled files are found by the time of their source: it must not be that of the broken one.
                os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    def run_unbroken(self, tests: list[str]) -> Outcome:
        return self._pytest(tests)

    def _make_interpreter(self) -> None:
        environment = self._project / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        packages = next(environment.glob("lib/python*/site-packages"))
        # The path of the original packages comes without its .pth files, and so without the original source.
        lines = [str(self._project / "src"), sysconfig.get_path("purelib")]
        (packages / "proof.pth").write_text("\n".join(lines) + "\n")
        for program in Path(sys.executable).parent.iterdir():
            if not (environment / "bin" / program.name).exists():
                (environment / "bin" / program.name).symlink_to(program)
        script = (ROOT / "bin" / "errands").read_text()
        ours = environment / "bin" / "errands"
        ours.unlink(missing_ok=True)
        ours.write_text(f"#!{self._python}\n" + script.partition("\n")[2])
        ours.chmod(0o755)

    def _pytest(self, tests: list[str], *, spec: str = "", fails_with: str = "") -> Outcome:
        self._report.unlink(missing_ok=True)
        words = ["-q", "-p", "no:cacheprovider", "-p", "tests.proof.first_failure"]
        words += [f"--timeout={_TEST_LIMIT}", f"--basetemp={self._place / 'tmp'}"]
        known = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTHONPATH")}
        ours = {_MARK: self._mark, REPORT: str(self._report), SPEC: spec, FAILS_WITH: fails_with}
        process = subprocess.Popen(
            [self._python, "-m", "pytest", *words, *tests],
            cwd=self._project,
            env={**known, **ours},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=_LIMIT)
        except subprocess.TimeoutExpired:
            return Outcome("", f"the tests took longer than {_LIMIT} s", 0)
        finally:
            self.end_everything()
        if not self._report.exists():
            return Outcome("", f"pytest could not run the tests:\n{output[-2000:]}", 0)
        report = json.loads(self._report.read_text())
        caught = next((each for each in report["failures"] if each["counts"]), None)
        if caught:
            return Outcome(caught["test"], caught["how"], report["passed"])
        if report["failures"] or process.returncode:
            failed = [f"{each['test']}: {each['how']}" for each in report["failures"]]
            return Outcome("", "\n".join(failed) or output[-2000:], report["passed"])
        return Outcome("", "", report["passed"])

    def end_everything(self) -> None:
        """End what the tests started: a broken engine may leave processes behind."""
        mark = f"{_MARK}={self._mark}".encode()
        for place in Path("/proc").iterdir():
            try:
                if place.name.isdigit() and mark in (place / "environ").read_bytes().split(b"\0"):
                    os.kill(int(place.name), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue


def _installed() -> list[Path]:
    """Return the folders of installed programs: gigabytes, which no test changes."""
    tools = ROOT / "tools"
    return [each for each in (tools / "node_modules", *(tools / "packages").iterdir()) if each.is_dir()]
