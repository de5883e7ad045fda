"""The subject: the engine under test in its own home, and the only way the harness touches it.

Daemon, zygote, shims, clients and readers are real processes, all descendants of this one.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import suppress

from errands import bootstrap, config
from errands.engine.bell_client import BellClient
from errands.engine.daemon.lock import daemon_facts
from errands.engine.engine import Engine
from errands.ports.home import Home
from tests.chaos import kill_points, launch, mutants
from tests.chaos.plan import LANES, Plan
from tests.chaos.planned_task import BLOB_SIZE
from tests.chaos.processes import Process, below, send_signal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SMALL_DISK = "32m"
READY_WITHIN = 60.0
_DAEMONS = {
    "armed": ("tests.chaos.launch",),
    "plain": ("errands", "daemon", "run"),
    "embedded": ("tests.chaos.embedded",),
}
_CONFIG = """\
[daemon]
tick = "5s"
[lanes]
"""


class Subject:
    def __init__(self, plan: Plan, *, mutant: str = "") -> None:
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.base = tempfile.mkdtemp(prefix=f"errands-chaos-{plan.seed}-", dir=shared)
        self.home = Home(path=f"{self.base}/home")
        self.witness = f"{self.base}/witness"
        self.clock = f"{self.base}/clock"
        self.blob = random.Random(0).randbytes(BLOB_SIZE)
        self.codes: dict[int, int] = {}
        self._started_daemons: list[int] = []
        self._has_small_disk = plan.needs_small_disk
        self._mutant = mutant
        self._lay_out(plan)
        self.config = config.load(cwd="/", environ=self.environ())

    def environ(self, **more: str) -> dict[str, str]:
        """Return the environment of every process of the harness; tasks get it too."""
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": self.base,
            "USER": "chaos",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT}/src",
            "ERRANDS_HOME": self.home.path,
            "XDG_CONFIG_HOME": f"{self.base}/config",
            "CHAOS_WITNESS": self.witness,
            "CHAOS_BLOB": f"{self.base}/blob",
            launch.CLOCK: self.clock,
            **({mutants.VARIABLE: self._mutant} if self._mutant else {}),
            **more,
        }

    def engine(self) -> Engine:
        return bootstrap.open_engine(self.home, self.config, consent="yes")

    # Processes.

    def spawn(self, *words: str, log: str, **more: str) -> int:
        """Start a Python process of the harness; its exit code will be in `codes`."""
        output = os.open(f"{self.base}/{log}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, *words],
                self.environ(**more),
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, output, 1),
                    (os.POSIX_SPAWN_DUP2, output, 2),
                ],
                setsid=True,
            )
            self.codes.pop(pid, None)  # of an earlier process of that number
            return pid
        finally:
            os.close(output)

    def spawn_daemon(self, *, kind: str = "armed", point: str = "", nth: int = 1) -> int:
        """Start a daemon of a kind, or with a point armed, and do not wait. Mutants are of one kind."""
        armed = {kill_points.VARIABLE: f"{point}:{nth}"} if point else {}
        words = _DAEMONS["armed" if self._mutant else kind]
        pid = self.spawn("-m", *words, log="daemon.log", **armed)
        self._started_daemons.append(pid)
        return pid

    def is_ready(self) -> bool:
        """Return whether a daemon answers."""
        self.reap()
        bell = BellClient(self.home.bell)
        try:
            return bell.is_answered()
        finally:
            bell.close()

    def is_over(self, pid: int) -> bool:
        """Return whether a process that was started here has ended."""
        self.reap()
        return pid in self.codes

    def reap(self) -> None:
        """Record every child that ended, and the orphans that this process adopted."""
        while True:
            try:
                pid, code = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self.codes[pid] = os.waitstatus_to_exitcode(code)

    def complaints(self) -> list[str]:
        """List the daemons that exited with an error, and the errors that daemons logged."""
        self.reap()
        ends = [self.codes.get(pid, 0) for pid in self._started_daemons]
        said = [f"a daemon ended with {code}" for code in ends if code not in (0, -signal.SIGKILL)]
        for path in (f"{self.base}/daemon.log", self.home.log):
            with suppress(FileNotFoundError), open(path, errors="replace") as file:
                said += [line.strip() for line in file if " ERROR " in line or line.startswith("Traceback")]
        return said

    def daemons(self) -> list[Process]:
        return [each for each in self.processes() if _is_daemon(each)]

    def daemon_pid(self) -> int | None:
        """Return the pid of the daemon of the home, as far as it is known."""
        daemons = [each.pid for each in self.daemons()]
        named = (daemon_facts(self.home) or {}).get("pid")
        if named in daemons:
            return int(named)
        return daemons[0] if daemons else None

    def zygotes(self) -> list[Process]:
        found = [each for each in self.processes() if _is_supervision(each)]
        pids = {each.pid for each in found}
        # A command that a shim is about to start looks like its shim, and has a session of its own already.
        return [each for each in found if each.session == each.pid and each.parent not in pids]

    def shims(self) -> list[Process]:
        found = self.processes()
        daemons = {each.pid for each in found if _is_daemon(each)}
        return [
            each
            for each in found
            if _is_supervision(each) and each.session != each.pid and each.parent not in daemons
        ]

    def task_processes(self) -> list[Process]:
        """List the processes of tasks that carry a mark."""
        return [each for each in self.processes() if _is_task(each)]

    def processes(self) -> list[Process]:
        """List the living descendants of the harness."""
        self.reap()
        return [each for each in below(os.getpid()) if not each.is_zombie]

    # Round.

    def stop(self) -> None:
        """Ask the daemons to exit."""
        for each in self.daemons():
            send_signal(each.pid, signal.SIGTERM)

    def remove(self, *, files: bool) -> None:
        """End every remaining process; remove all files, or keep them all for inspection."""
        for _ in range(50):
            left = self.processes()
            if not left:
                break
            for each in left:
                send_signal(each.pid, signal.SIGKILL)
            time.sleep(0.02)
        if self._has_small_disk:
            if not files:
                shutil.copytree(self.home.path, f"{self.base}/kept", ignore=_sockets)
            subprocess.run(["umount", "-l", self.home.path], check=False)
        if files:
            shutil.rmtree(self.base, ignore_errors=True)

    def _lay_out(self, plan: Plan) -> None:
        os.makedirs(self.home.path, mode=0o700)
        if self._has_small_disk:
            options = f"size={SMALL_DISK},mode=0700"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "chaos", self.home.path], check=True)
        os.makedirs(f"{self.base}/config/errands")
        with open(f"{self.base}/config/errands/config.toml", "w") as file:
            file.write(_CONFIG + "".join(f"{name} = {width}\n" for name, width in LANES.items()))
        with open(f"{self.base}/plan.json", "w") as file:
            file.write(plan.written())
        with open(f"{self.base}/blob", "wb") as binary:
            binary.write(self.blob)
        with open(self.witness, "w"), open(self.clock, "w"):
            pass


def can_have_small_disk() -> bool:
    """Return whether a small disk can be mounted, which only root may do."""
    return os.geteuid() == 0 and shutil.which("mount") is not None


def _sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if stat.S_ISSOCK(os.lstat(f"{folder}/{name}").st_mode)]


def _is_daemon(process: Process) -> bool:
    words = tuple(word for word in process.words[1:] if word != "-P")
    return words[:1] == ("-m",) and words[1:] in _DAEMONS.values()


def _is_task(process: Process) -> bool:
    return "python" not in "".join(process.words) and process.variable("ERRANDS_RUN_ID") is not None


def _is_supervision(process: Process) -> bool:
    return any(word.endswith("/zygote.py") for word in process.words)
