"""A run under its shim: its steps, and the end of the whole tree.

The end of a command is its exit, never the end of a pipe that somebody else may hold open.
"""

from __future__ import annotations

import os
import time

from errands.ports import rundir
from errands.runners.output.capped_log import Log
from errands.runners.output.output_pump import OutputPump, Progress
from errands.runners.shim.limits import Limits
from errands.runners.shim.program import explain_directory, explain_start, niced, resolve
from errands.runners.shim.run_record_writer import RunRecordWriter
from errands.runners.shim.stdin_socket import StdinSocket
from errands.runners.shim.sweep import MARK
from errands.runners.system import tree
from errands.runners.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import select
    from typing import Any, Protocol

    from errands.ports.rundir import Word
    from errands.runners.system.system import System

    # What becomes of the descriptors of a new process, as `os.posix_spawn` has it.
    FileActions = list[tuple[int, int, int] | tuple[int, int, str, int, int]]

    class Parent(Protocol):
        """What a run needs of the shim that is the parent of its processes."""

        system: System
        boot: str
        pid: int
        poll: select.poll
        base: dict[str, str]
        is_alone: bool
        groups: list[int]

        def spawn(self, path: str, argv: list[str], env: dict[str, str], actions: FileActions) -> int: ...
        def turn(self, timeout: float | None) -> None: ...
        def living(self, *, most: int = 1 << 22) -> list[int]: ...
        def reap(self) -> None: ...
        def report(self, message: tuple[object, ...]) -> None: ...


LEFTOVER_GRACE = 0.2
LOOK_FOR_ORPHANS = 0.1
FINALLY_TIME = 60.0
LOOK_AT_WAITING = 0.5  # seconds between two looks at a run that waits for others
WORTH_TELLING = 0.02  # a run that is over by then tells its start together with its end
_NEVER = float("inf")


class Run:
    """Carry out one order of the pool, from the record's first line to its last."""

    _record: RunRecordWriter

    def __init__(self, shim: Parent, order: dict[str, Any]) -> None:
        self.id: str = order["run"]
        self.survivors: tuple[int, ...] = ()
        self._shim = shim
        self._system = shim.system
        self._order = order
        self.directory: str = order["dir"]
        self._env: dict[str, str] = {**shim.base, **order["env"]}
        self._grace: float = order["grace"]
        self._ends_at = _NEVER
        self._waited = 0.0
        self._quiet_since = 0.0
        self._idle_for = _NEVER
        self._kill_at = _NEVER
        self._is_cancelled = False
        self._in_finally = False
        self._leader = 0
        self._status = 0
        self.was_started = False
        self._tell_at = _NEVER
        self._look_again = 0.0
        self._facts: dict[str, Word] = {}
        self._hooks: list[str] = []
        self._cpu = 0.0
        self._rss = 0
        self._feed: StdinSocket | None = None
        self._stdin = -1
        self._end = -1

    def cancel(self, grace: float | None) -> None:
        """Ask for the end of the run; asking again can only make it faster."""
        self._is_cancelled = True
        if grace is not None:
            self._grace = grace
            self._kill_at = min(self._kill_at, time.monotonic() + grace)

    def ready(self, file: int, event: int) -> None:
        """Go on with a file that can be read or written now."""
        if file in self._outlet.files:
            self._outlet.read(file)
        elif self._feed is not None:
            self._feed.ready(file, event)

    def reaped(self, pid: int, status: int, usage: Any) -> None:
        """Note the death of a process of the tree."""
        self._cpu += usage.ru_utime + usage.ru_stime
        if usage.ru_maxrss > self._rss:
            self._rss = usage.ru_maxrss
        if pid == self._leader:
            self._leader, self._status = 0, status

    def carry_out(self) -> dict[str, Word]:
        """Do it all and give the facts of the exit line, which is in the record by then."""
        self._record = RunRecordWriter(self._order, shim=self._shim.pid, boot=self._shim.boot)
        try:
            if self._order["may_wait"]:  # an agent, which may be started again when it dies
                rundir.forget_wait(self.directory)
                rundir.keep_log(self.directory, attempt=self._order["attempt"])
            self._log = Log(self.directory, header=self._order["header"], cap=self._order["cap"])
            self._progress = Progress(self.directory)
            self._outlet = OutputPump(self._system, self._shim.poll, self._log, self._progress)
            self._limits = Limits(self._system, self._order["limits"])
            self._take_steps()
            return self._finish()
        finally:
            self._record.close()

    def _take_steps(self) -> None:
        order = self._order
        began = time.monotonic()
        self._facts["started"] = f"{time.time():.6f}"
        if order["timeout"] is not None:
            self._ends_at = began + order["timeout"]
        if order["idle"] is not None:
            self._idle_for = order["idle"]
        self._env[MARK] = self.directory
        if order["input"] != "none":
            self._open_feed(order["input"])
        outcome: dict[str, Word] = {}
        for index, (role, argv, label) in enumerate(order["steps"]):
            if role == "main":
                if not outcome or outcome.get("code") == 0:
                    outcome = self._step(index, argv, label)
                    outcome["step"] = index
                continue
            if role == "finally":
                self._begin_finally(outcome)
            self._hooks.append(f"{role}:{_said(self._step(index, argv, label))}")
        self._facts |= outcome
        self._facts["ended"] = f"{time.time():.6f}"
        self._facts["elapsed"] = f"{time.monotonic() - began:.6f}"

    def _begin_finally(self, outcome: dict[str, Word]) -> None:
        """Let a last hook know how it went; from here on nothing changes the run's own outcome."""
        self._in_finally = True
        self._is_cancelled = False
        self._kill_at = self._idle_for = _NEVER
        self._ends_at = time.monotonic() + FINALLY_TIME
        code = outcome.get("code", "")
        if "signal" in outcome:
            code = 128 + int(outcome["signal"])
        completed = code == 0 and "stop" not in self._facts
        cancelled = self._facts.get("stop") == "cancel"
        self._env["ERRANDS_EXIT_CODE"] = str(code)
        self._env["ERRANDS_OUTCOME"] = "completed" if completed else "cancelled" if cancelled else "failed"

    def _step(self, index: int, argv: list[str], label: str) -> dict[str, Word]:
        """Run one command to its end."""
        if self._is_cancelled or ("stop" in self._facts and not self._in_finally):
            self._facts.setdefault("stop", "cancel")
            return {"signal": int(signal.SIGTERM)}
        is_one_of_many = len(self._order["steps"]) > 1
        if is_one_of_many:
            self._say(f"$ {label}\n")
        since = self._system.clock()
        try:
            self._spawn(argv)
        except OSError as error:
            if is_one_of_many:
                self._say(f"{error.strerror}\n")
            return {"error": error.strerror or str(error), "errno": error.errno or 0}
        pid = self._leader
        self._record.write_start(pid, step=index, since=since, until=self._system.clock())
        if not self.was_started:
            self.was_started = True
            self._tell_at = time.monotonic() + WORTH_TELLING
        self._wait()
        self._let_go()
        if self._outlet.files:
            self._outlet.drain()
        if os.WIFSIGNALED(self._status):
            return {"signal": os.WTERMSIG(self._status), "pid": pid}
        return {"code": os.WEXITSTATUS(self._status), "pid": pid}

    def _say(self, text: str) -> None:
        piece = text.encode("utf-8", "surrogateescape")
        self._log.write(piece, lines=piece.count(b"\n"))

    def _spawn(self, argv: list[str]) -> None:
        """Start a command as the leader of its own session; every failure says what is wrong."""
        order = self._order
        name = argv[0]
        try:
            os.chdir(order["cwd"])
        except OSError as error:
            raise OSError(error.errno, explain_directory(order["cwd"], error)) from None
        path = resolve(name, self._env)
        if order["nice"] is not None and os.path.isfile(path) and os.access(path, os.X_OK):
            path, argv = niced(order["nice"], path, argv)
        if order["input"] == "pty":
            theirs, into = self._outlet.open_terminal()
            assert self._feed is not None
            self._feed.connect(into)
            self._end = theirs
            actions: FileActions = [
                # Opened by name, so that it becomes the terminal of the new session.
                (os.POSIX_SPAWN_OPEN, 0, os.ttyname(theirs), os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, 0, 1),
                (os.POSIX_SPAWN_DUP2, 0, 2),
            ]
        else:
            self._end = out = self._outlet.open_pipe()
            actions = [
                (os.POSIX_SPAWN_DUP2, self._stdin, 0)
                if self._stdin >= 0
                else (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, out, 1),
                (os.POSIX_SPAWN_DUP2, out, 2),
            ]
        try:
            self._leader = self._shim.spawn(path, argv, self._env, actions)
            self._shim.is_alone = False
            self._shim.groups.append(self._leader)
        except OSError as error:
            self._let_go()
            raise OSError(error.errno, explain_start(name, path, error)) from None
        except ValueError as error:
            self._let_go()
            raise OSError(0, f"cannot start {name!r}: {error}") from None
        finally:
            os.chdir("/")
        if order["input"] == "pty":
            self._let_go()  # only when nobody has it any more does a terminal say that it is over

    def _let_go(self) -> None:
        """Close our hand on the commands' end of the pipe.

        While it is held, the pipe does not end, so the shim is woken once when a command exits, not twice.
        """
        if self._end >= 0:
            os.close(self._end)
            self._end = -1

    def _open_feed(self, kind: str) -> None:
        self._feed = StdinSocket(self.directory, self._shim.poll, is_terminal=kind == "pty")
        if kind == "pipe":
            self._stdin, into = os.pipe()
            self._feed.connect(into)

    def _wait(self) -> None:
        """Wait for the command to exit; end it when it is cancelled or goes beyond what it may."""
        while self._leader:
            now = time.monotonic()
            if reason := self._reason_to_stop(now):
                self._stop(reason)
                return
            if now >= self._tell_at:
                self._tell_at = _NEVER
                self._shim.report(("started", self.id, self._leader, self._facts["started"]))
            progress = self._progress
            if now >= progress.due:
                progress.tell(now)
            nearest = min(
                max(self._ends_at + self._waited, self._look_again),
                max(max(self._outlet.last, self._quiet_since) + self._idle_for, self._look_again),
                progress.due,
                self._limits.due,
                self._tell_at,
            )
            self._shim.turn(None if nearest == _NEVER else nearest - now)

    def _reason_to_stop(self, now: float) -> str:
        if self._is_cancelled:
            return "cancel"
        if now >= min(self._ends_at + self._waited, self._outlet.last + self._idle_for) and (
            reason := self._reason_of_time(now)
        ):
            return reason
        if now >= self._limits.due:
            found = self._limits.exceeded(self._tree, cpu_before=self._cpu, now=now)
            if found:
                self._facts["peak"] = found[1]
                return found[0]
        return ""

    def _reason_of_time(self, now: float) -> str:
        """Say which time-out has passed, if the time the run waited for others is left out."""
        if self._order["may_wait"]:
            self._waited, self._quiet_since = rundir.waited(self.directory, now=now)
            if self._quiet_since == now:
                self._look_again = now + LOOK_AT_WAITING
                return ""
        if now >= self._ends_at + self._waited:
            return "timeout"
        if now >= max(self._outlet.last, self._quiet_since) + self._idle_for:
            return "idle"
        return ""

    def _stop(self, reason: str) -> None:
        """End the whole tree: ask, wait for the grace, kill, verify. Whoever broke a limit is not asked."""
        self._shim.reap()
        if not self._leader:
            return  # it ended by itself meanwhile, and that counts
        if not self._in_finally:
            self._facts["stop"] = reason
        if reason in ("cancel", "timeout", "idle"):
            self._ask_and_wait(self._grace)
        self._kill()

    def _ask_and_wait(self, grace: float) -> None:
        tree.send(self._tree(), signal.SIGTERM, signal.SIGCONT)
        self._kill_at = min(self._kill_at, time.monotonic() + grace)
        while not self._is_gone() and (left := self._kill_at - time.monotonic()) > 0:
            self._shim.turn(left if self._system.INHERITS_ORPHANS else min(left, LOOK_FOR_ORPHANS))
        self._kill_at = _NEVER

    def _is_gone(self) -> bool:
        """Tell whether nobody of the run is left; where orphans do not come to us they must be looked for."""
        return self._shim.is_alone and (self._system.INHERITS_ORPHANS or not self._tree())

    def _kill(self) -> None:
        if not self._is_gone():
            self.survivors = tree.kill(self._tree, by_group=True, leader=self._leader)
        if self._leader:
            self._leader, self._status = 0, int(signal.SIGKILL)

    def _tree(self, *, most: int = 1 << 22) -> list[int]:
        """List the living processes of the run."""
        return self._shim.living(most=most)

    def _finish(self) -> dict[str, Word]:
        """Leave nothing behind but the log and the record; give the facts of the exit line."""
        facts = self._facts
        if not self._is_gone() and (leftovers := self._tree()):
            facts["leftovers"] = len(leftovers)
            self._ask_and_wait(LEFTOVER_GRACE)
            self._kill()
        self._outlet.drain()
        self._outlet.close()
        if self._feed is not None:
            self._feed.close()
        if self._stdin >= 0:
            os.close(self._stdin)
        self._progress.tell(time.monotonic())
        facts |= self._log.finish()
        facts["cpu"] = f"{self._cpu:.6f}"
        facts["rss"] = self._rss
        if self._hooks:
            facts["hooks"] = ",".join(self._hooks)
        if self.survivors:
            facts["survivors"] = ",".join(map(str, self.survivors))
        try:
            self._record.write_exit(rundir.record_line("exit", facts))
        except OSError:
            pass  # a full disk; whoever listens hears it all the same
        return facts


def _said(outcome: dict[str, Word]) -> str:
    """Say in a word how a hook went: its exit code, minus the signal that ended it, or `error`."""
    return f"-{outcome['signal']}" if "signal" in outcome else str(outcome.get("code", "error"))
