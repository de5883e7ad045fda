"""A run under its shim: its steps, and the end of its whole process tree.

A command is over when its process exits, never when its pipe ends: other processes may keep that open.
"""

from __future__ import annotations

import os
import time

from errands.ports import rundir
from errands.runners.output.capped_log import Log
from errands.runners.output.output_pump import OutputPump, Progress
from errands.runners.shim import program
from errands.runners.shim.limits import Limits, NoFuse
from errands.runners.shim.pause import Pause
from errands.runners.shim.run_record_writer import RunRecordWriter
from errands.runners.shim.sweep import MARK
from errands.runners.shim.walls import enclosed, set_aside, wall_hit
from errands.runners.system import tree
from errands.runners.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.ports.rundir import Word
    from errands.runners.shim.fuse import Fuse
    from errands.runners.shim.parent import Parent
    from errands.runners.shim.read_only import ReadOnly
    from errands.runners.shim.stdin_socket import StdinSocket

LEFTOVER_GRACE = 0.2
ORPHAN_POLL = 0.1
FINALLY_TIME = 60.0
WAIT_POLL = 0.5  # seconds between checks whether a run still waits for others
REPORT_DELAY = 0.02  # seconds; a shorter run reports its start together with its end
_NEVER = float("inf")


class Run:
    """Execute one launch, from the first line of the run record to the last."""

    _record: RunRecordWriter

    def __init__(self, shim: Parent, launch: dict[str, Any]) -> None:
        self.id: str = launch["run"]
        self.attempt: int = launch["attempt"]
        self.survivors: tuple[int, ...] = ()
        self._shim = shim
        self._system = shim.system
        self._launch = launch
        self.directory: str = launch["dir"]
        self._env: dict[str, str] = {**shim.base, **launch["env"]}
        self._grace: float = launch["grace"]
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
        self._report_at = _NEVER
        self._check_wait_at = 0.0
        self._facts: dict[str, Word] = {}
        self._hooks: list[str] = []
        self._cpu = 0.0
        self._rss = 0
        self._read_only: ReadOnly | None = None
        self._fuse: Fuse | NoFuse = NoFuse()
        self._pause = Pause(shim.system, self.directory, shim.living)
        self._input: StdinSocket | None = None
        self._stdin = self._output_end = -1

    def cancel(self, grace: float | None) -> None:
        """Stop the run; a second request can only shorten the grace."""
        self._is_cancelled = True
        if grace is not None:
            self._grace = grace
            self._kill_at = min(self._kill_at, time.monotonic() + grace)

    def apply_pause(self) -> None:
        """Stop or continue all processes, as the run directory says; timeouts stand still meanwhile."""
        if lasted := self._pause.look():
            self._ends_at += lasted
            self._pump.last = min(self._pump.last + lasted, time.monotonic())

    def ready(self, file: int, event: int) -> None:
        """Handle a file that can be read or written now."""
        if file in self._pump.files:
            self._pump.read(file)
        elif self._input is not None:
            self._input.ready(file, event)

    def reaped(self, pid: int, status: int, usage: Any) -> None:
        """Add up the usage of a process that exited, and note whether it was the current command."""
        self._cpu += usage.ru_utime + usage.ru_stime
        if usage.ru_maxrss > self._rss:
            self._rss = usage.ru_maxrss
        if pid == self._leader:
            self._leader, self._status = 0, status

    def execute(self) -> dict[str, Word]:
        """Run all steps and return the facts of the exit line, which is in the run record by then."""
        self._record = RunRecordWriter(self._launch, shim=self._shim.pid, boot=self._shim.boot)
        try:
            if self._launch["may_wait"]:  # an agent, which is started again if it dies
                rundir.forget_wait(self.directory)
                rundir.keep_log(self.directory, attempt=self.attempt)
            self._log = Log(self.directory, header=self._launch["header"], cap=self._launch["cap"])
            self._progress = Progress(self.directory)
            self._pump = OutputPump(self._system, self._shim.poll, self._log, self._progress)
            self._limits = Limits(self._system, self._launch["limits"])
            self._run_steps()
            return self._finish()
        finally:
            self._record.close()

    def _run_steps(self) -> None:
        launch = self._launch
        began = time.monotonic()
        self._facts["started"] = f"{time.time():.6f}"
        if launch["timeout"] is not None:
            self._ends_at = began + launch["timeout"]
        if launch["idle"] is not None:
            self._idle_for = launch["idle"]
        if launch["fuse"]:
            from errands.runners.shim.fuse import Fuse  # few runs have one

            self._fuse = Fuse(launch["fuse"])
        if launch["walls"] is None:
            self._env[MARK] = self.directory
        if launch["read_only"] and (read_only := self._shim.read_only(self.directory)) is not None:
            self._read_only = read_only
            self._env |= read_only.variables
        if launch["input"] != "none":
            from errands.runners.shim.stdin_socket import StdinSocket  # few runs have input

            self._input = StdinSocket(self.directory, self._shim.poll, is_terminal=launch["input"] == "pty")
        if self._input is not None and launch["input"] == "pipe":
            self._stdin, into = os.pipe()
            self._input.connect(into)
        self.apply_pause()
        outcome: dict[str, Word] = {}
        for index, (role, argv, label) in enumerate(launch["steps"]):
            if role == "main":
                if not outcome or outcome.get("code") == 0:
                    outcome = self._step(index, argv, label)
                    outcome["step"] = index
                continue
            if role == "finally":
                self._begin_finally(outcome)
            self._hooks.append(f"{role}:{_hook_result(self._step(index, argv, label))}")
        self._facts |= outcome
        self._facts["ended"] = f"{time.time():.6f}"
        self._facts["elapsed"] = f"{time.monotonic() - began:.6f}"

    def _begin_finally(self, outcome: dict[str, Word]) -> None:
        """Put the outcome into the environment of the last hook; from here on it cannot change."""
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
        while self._pause.is_on and not self._is_cancelled and not self._fuse.look(time.monotonic()):
            self._shim.turn(self._fuse.wait(None))
        is_burnt = self._fuse.look(time.monotonic())
        if is_burnt or self._is_cancelled or ("stop" in self._facts and not self._in_finally):
            if not (is_burnt and self._in_finally):
                self._facts.setdefault("stop", "fuse" if is_burnt else "cancel")
            return {"signal": int(signal.SIGTERM)}
        is_one_of_many = len(self._launch["steps"]) > 1
        if is_one_of_many:
            self._log_line(f"$ {label}\n")
        since = self._system.clock()
        try:
            self._spawn(argv)
        except OSError as error:
            if is_one_of_many:
                self._log_line(f"{error.strerror}\n")
            return {"error": error.strerror or str(error), "errno": error.errno or 0}
        pid = self._leader
        self._record.write_start(pid, step=index, since=since, until=self._system.clock())
        if not self.was_started:
            self.was_started = True
            self._report_at = time.monotonic() + REPORT_DELAY
        self._wait()
        self._close_output_end()
        if self._pump.files:
            self._pump.drain()
        if os.WIFSIGNALED(self._status):
            return {"signal": os.WTERMSIG(self._status), "pid": pid}
        return {"code": os.WEXITSTATUS(self._status), "pid": pid}

    def _log_line(self, text: str) -> None:
        piece = text.encode("utf-8", "surrogateescape")
        self._log.write(piece, lines=piece.count(b"\n"))

    def _spawn(self, argv: list[str]) -> None:
        """Start a command as the leader of its own session; raise OSError with an explanation."""
        launch = self._launch
        name = argv[0]
        try:
            os.chdir(launch["cwd"])
        except OSError as error:
            raise OSError(error.errno, program.explain_directory(launch["cwd"], error)) from None
        path, env = program.resolve(name, self._env), self._env
        if launch["nice"] is not None and os.path.isfile(path) and os.access(path, os.X_OK):
            path, argv = program.with_nice(launch["nice"], path, argv)
        inherited: list[int] = []
        if launch["walls"] is not None:
            argv, inherited = enclosed(launch["walls"], argv, self._env)
            path, env = argv[0], {MARK: self.directory}
        if launch["input"] == "pty":
            theirs, into = self._pump.open_terminal()
            assert self._input is not None
            self._input.connect(into)
            self._output_end = theirs
            terminal = os.ttyname(theirs)
            actions = program.terminal_actions(terminal)
        else:
            terminal = ""
            self._output_end = self._pump.open_pipe()
            actions = program.pipe_actions(self._stdin, self._output_end)
        try:
            if self._read_only is None:
                self._leader = self._shim.spawn(path, argv, env, actions)
            else:
                self._leader = self._read_only.call(
                    lambda: self._shim.spawn(path, argv, env, actions), env, launch["cwd"], terminal
                )
            self._shim.is_alone = False
            self._shim.groups.append(self._leader)
        except OSError as error:
            self._close_output_end()
            raise OSError(error.errno, program.explain_start(name, path, error)) from None
        except ValueError as error:
            self._close_output_end()
            raise OSError(0, f"cannot start {name!r}: {error}") from None
        finally:
            os.chdir("/")
            for file in inherited:
                os.close(file)
        if launch["input"] == "pty":
            self._close_output_end()  # a terminal reports its end only once every process has closed it

    def _close_output_end(self) -> None:
        """Close our copy of the commands' end of the pipe.

        It keeps the pipe from ending with its command, which would wake up the shim twice instead of once.
        """
        if self._output_end >= 0:
            os.close(self._output_end)
            self._output_end = -1

    def _wait(self) -> None:
        """Wait for the command to exit; stop it when it is cancelled or exceeds a time-out or limit."""
        while self._leader:
            now = time.monotonic()
            if reason := self._reason_to_stop(now):
                self._stop(reason)
                return
            if now >= self._report_at:
                self._report_at = _NEVER
                self._shim.report(("started", self.id, self.attempt, self._leader, self._facts["started"]))
            progress = self._progress
            if now >= progress.due:
                progress.flush(now)
            if self._pause.is_on:
                if now >= self._pause.due:
                    self._pause.stop()
                nearest = min(progress.due, self._pause.due, self._fuse.due)
                self._shim.turn(None if nearest == _NEVER else nearest - now)
                continue
            nearest = min(
                max(self._ends_at + self._waited, self._check_wait_at),
                max(max(self._pump.last, self._quiet_since) + self._idle_for, self._check_wait_at),
                progress.due,
                self._limits.due,
                self._report_at,
                self._fuse.due,
            )
            self._shim.turn(None if nearest == _NEVER else nearest - now)

    def _reason_to_stop(self, now: float) -> str:
        if now >= self._fuse.due and self._fuse.look(now):
            return "fuse"
        if self._is_cancelled:
            return "cancel"
        if self._pause.is_on:
            return ""
        if now >= min(self._ends_at + self._waited, self._pump.last + self._idle_for) and (
            reason := self._passed_timeout(now)
        ):
            return reason
        if now >= self._limits.due:
            found = self._limits.exceeded(self._shim.living, cpu_before=self._cpu, now=now)
            if found:
                self._facts["peak"] = found[1]
                return found[0]
        return ""

    def _passed_timeout(self, now: float) -> str:
        """Return which time-out has passed, not counting the time that the run waited for others."""
        if self._launch["may_wait"]:
            self._waited, self._quiet_since = rundir.waited(self.directory, now=now)
            if self._quiet_since == now:
                self._check_wait_at = now + WAIT_POLL
                return ""
        if now >= self._ends_at + self._waited:
            return "timeout"
        if now >= max(self._pump.last, self._quiet_since) + self._idle_for:
            return "idle"
        return ""

    def _stop(self, reason: str) -> None:
        """End the whole tree: terminate, wait out the grace period, kill, verify; a limit kills at once."""
        self._shim.reap()
        if not self._leader:
            return  # it exited by itself in the meantime, and that counts
        if not self._in_finally:
            self._facts["stop"] = reason
        self._pause.end()
        if reason in ("cancel", "timeout", "idle", "fuse"):
            self._terminate(self._grace)
        self._kill()

    def _terminate(self, grace: float) -> None:
        tree.send(self._shim.living(), signal.SIGTERM, signal.SIGCONT)
        self._let_end(grace)

    def _let_end(self, grace: float) -> None:
        self._kill_at = min(self._kill_at, time.monotonic() + grace)
        while not self._is_over() and (left := self._kill_at - time.monotonic()) > 0:
            if (left := self._fuse.wait(left) or 0.0) <= 0:
                break
            self._shim.turn(left if self._system.INHERITS_ORPHANS else min(left, ORPHAN_POLL))
        self._kill_at = _NEVER

    def _is_over(self) -> bool:
        """Return whether no process of the run is left; search where the shim does not inherit orphans."""
        return self._shim.is_alone and (self._system.INHERITS_ORPHANS or not self._shim.living())

    def _kill(self) -> None:
        if not self._is_over():
            self.survivors = tree.kill(self._shim.living, by_group=True, leader=self._leader)
        if self._leader:
            self._leader, self._status = 0, int(signal.SIGKILL)

    def _finish(self) -> dict[str, Word]:
        """End the rest of the tree, complete log and run record, and return the facts of the exit line."""
        facts, walls = self._facts, self._launch["walls"]
        if walls is not None:
            self._let_end(LEFTOVER_GRACE)  # a sandbox has an init process of its own, which ends last
        if not self._is_over() and (leftovers := self._shim.living()):
            facts["leftovers"] = len(leftovers) - (walls is not None)
            self._terminate(LEFTOVER_GRACE)
            self._kill()
        self._pump.drain()
        for said in () if walls is None else set_aside(walls, self.id):
            self._log_line(f"{said}\n")
        if self._read_only is not None and facts.get("code"):
            for said in self._read_only.explanation(self.directory):
                self._log_line(f"{said}\n")
        self._pump.close()
        if self._input is not None:
            self._input.close()
        if self._stdin >= 0:
            os.close(self._stdin)
        self._progress.flush(time.monotonic())
        facts |= self._log.finish()
        if walls is not None and facts.get("code") != 0:
            facts["wall"] = wall_hit(self.directory)
        facts["cpu"] = f"{self._cpu:.6f}"
        facts["rss"] = self._rss
        if self._hooks:
            facts["hooks"] = ",".join(self._hooks)
        if self.survivors:
            facts["survivors"] = ",".join(map(str, self.survivors))
        try:
            self._record.write_exit(rundir.record_line("exit", facts))
        except OSError:
            pass  # the disk is full; the pool still gets the facts
        return facts


def _hook_result(outcome: dict[str, Word]) -> str:
    """Return the result of a hook as one word: its exit code, its negated signal number, or `error`."""
    return f"-{outcome['signal']}" if "signal" in outcome else str(outcome.get("code", "error"))
