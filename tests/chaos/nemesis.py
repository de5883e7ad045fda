"""The nemesis, as Jepsen calls it: it carries out the planned faults in order and records them.

It also repairs what it breaks: a dead daemon gets a successor, a stopped process continues, a full disk is
freed, a killed client is started again.
"""

from __future__ import annotations

import glob
import os
import signal
import time
from collections import Counter
from contextlib import suppress

from errands.ports.rundir import record_lines
from errands.runners.system.linux import CLOCK_STEP
from tests.chaos import history, kill_points
from tests.chaos.daemons import Daemons
from tests.chaos.decoys import Decoys
from tests.chaos.faults import kill_count
from tests.chaos.plan import FAULTS_DONE, Fault, Plan
from tests.chaos.processes import Process, below, send_signal, wait_until
from tests.chaos.subject import READY_WITHIN, Subject
from tests.chaos.violation import Violation
from tests.chaos.witness import have_started

VICTIM_WITHIN = 1.0
DEAD_WITHIN = 20.0


class Nemesis:
    """`lost` are the runs whose shim was killed before it had recorded their end, `perhaps_lost` those of
    which that is unknown, `unfindable` those whose orphans had no zygote to adopt them."""

    def __init__(self, subject: Subject, plan: Plan, decoys: Decoys, began: float) -> None:
        self.counts: Counter[str] = Counter()
        self.daemons = Daemons(subject, plan)
        self.lost: set[str] = set()
        self.perhaps_lost: set[str] = set()
        self.unfindable: set[str] = set()
        self.filled_disk = False
        self.violations: list[Violation] = []
        self._clients: dict[int, int] = {}
        self._points: dict[int, str] = {}
        self._subject = subject
        self._plan = plan
        self._decoys = decoys
        self._began = began

    @property
    def kills(self) -> int:
        """Count the daemons, zygotes and shims that were killed."""
        counts = self.counts + self.daemons.counts
        return sum(n for kind, n in counts.items() if kind.startswith("kill ") and "client" not in kind)

    def run(self) -> None:
        """Carry out the whole plan."""
        for client in range(self._plan.clients):
            self._start_client(client)
        self.daemons.begin(0, kind="armed", wait=True)
        for index, fault in enumerate(self._plan.faults):
            while (left := self._began + fault.at - time.monotonic()) > 0:
                time.sleep(min(left, 0.02))
                self._restart_dead(index)
            self._restart_dead(index)
            if fault.after:
                self._await_start(fault.after)
            if index not in self.daemons.done:
                self._inject(index, fault)
        while self.kills < kill_count(self._plan.faults):  # a victim did not appear in time
            self._kill_daemon(len(self._plan.faults), Fault(at=0, kind="daemon"))
        with open(f"{self._subject.base}/{FAULTS_DONE}", "w"):
            pass

    def heal(self) -> None:
        """Undo everything that can be undone, and leave a daemon running as users start it."""
        self._write_clock(0.0)
        self._free_disk()
        for each in self._subject.processes():
            if each.state == "T":
                send_signal(each.pid, signal.SIGCONT)
        for each in self._subject.daemons():  # one of them may have a point armed
            self._kill("daemon at the end", each.pid)
        self.daemons.begin(len(self._plan.faults), kind="plain", wait=True)

    def restart_clients(self) -> bool:
        """Restart killed clients; return whether all have done their part."""
        self._subject.reap()
        is_over = True
        for client, pid in list(self._clients.items()):
            code = self._subject.codes.get(pid)
            if code == -signal.SIGKILL:
                if point := self._points.pop(pid, ""):
                    self.counts[f"kill client at {point}"] += 1
                self._start_client(client)
            elif code:
                log = f"client.{client}.log"
                self.violations.append(Violation("I14", f"client {client} failed with {code}: see {log}"))
                del self._clients[client]
            is_over = is_over and code is not None and code != -signal.SIGKILL
        return is_over

    def _restart_dead(self, index: int) -> None:
        """Start a successor for a daemon or client that died at its point."""
        self.restart_clients()
        if not self._subject.daemons():
            self.daemons.begin(index, kind="armed", wait=False)

    def _await_start(self, token: str) -> None:
        wait_until(lambda: have_started(self._subject.witness, [token]), within=READY_WITHIN)

    def _inject(self, index: int, fault: Fault) -> None:
        match fault.kind:
            case "daemon":
                self._kill_daemon(index, fault)
            case "zygote":
                self._kill_zygote(fault)
            case "shim":
                self._kill_shim(fault)
            case "daemon and zygote":
                self._kill_zygote(fault)
                self._kill_daemon(index, fault)
            case "all three":
                self._kill_shim(fault)
                self._kill_zygote(fault)
                self._kill_daemon(index, fault)
            case "stop daemon":
                self._pause(fault, self._subject.daemons())
            case "stop zygote":
                self._pause(fault, self._subject.zygotes())
            case "stop shim":
                self._pause(fault, self._subject.shims())
            case "stop task":
                self._pause(fault, self._subject.task_processes())
            case "reused pids":
                self._reuse_pids(index, fault)
            case "second daemon":
                self.daemons.begin_second_daemons(fault)
            case "clock":
                self.counts["clock step"] += 1
                self._write_clock(fault.span)
            case "client":
                self._kill_client(fault)
            case "disk full":
                self._fill_disk(fault)

    # Kills.

    def _kill(self, what: str, pid: int) -> None:
        if send_signal(pid, signal.SIGKILL):
            self.counts[f"kill {what}"] += 1
            wait_until(lambda: _state(pid) == "Z", within=DEAD_WITHIN, every=0.0005)

    def _kill_daemon(self, index: int, fault: Fault) -> None:
        self.daemons.await_end(index)
        if index not in self.daemons.done:
            wait_until(lambda: bool(self._subject.daemons()), within=VICTIM_WITHIN)
            victim = self._subject.daemon_pid()
            if victim is not None:
                self._kill("daemon", victim)
        time.sleep(fault.span)
        wait_until(lambda: self._answered() >= fault.answered, within=READY_WITHIN)
        self._step_clock_if_due(index + 1)
        self.daemons.begin(index + 1, kind=fault.then, wait=fault.pick % 3 > 0)

    def _answered(self) -> int:
        return len(history.read(self._subject.base).answered)

    def _kill_zygote(self, fault: Fault) -> None:
        wait_until(lambda: bool(self._subject.zygotes()), within=VICTIM_WITHIN)
        zygotes = self._subject.zygotes()
        if zygotes:
            self._kill("zygote", zygotes[fault.pick % len(zygotes)].pid)

    def _kill_shim(self, fault: Fault) -> list[int]:
        """Stop a busy shim, see which run it has, and kill it; return the pids of it and its processes."""
        wait_until(lambda: bool(self._busy_shims()), within=VICTIM_WITHIN)
        shims = self._busy_shims()
        victim = shims[fault.pick % len(shims)] if shims else None
        if victim is None or not send_signal(victim.pid, signal.SIGSTOP):
            self.counts["no shim to kill"] += 1
            return []
        wait_until(lambda: _state(victim.pid) in "TZ", within=VICTIM_WITHIN, every=0.0005)
        lost, perhaps = self._runs_of(victim.pid)
        self.lost |= lost
        self.perhaps_lost |= perhaps
        if fault.kind != "shim" or victim.parent not in {each.pid for each in self._subject.zygotes()}:
            self.unfindable |= lost
        family = [each.pid for each in below(victim.pid)]
        self._kill("shim", victim.pid)
        return [victim.pid, *family]

    def _busy_shims(self) -> list[Process]:
        parents = {each.parent for each in self._subject.processes()}
        return [each for each in self._subject.shims() if each.pid in parents]

    def _runs_of(self, shim: int) -> tuple[set[str], set[str]]:
        """Read from the records which runs a shim has, and which ones it may have."""
        lost, perhaps = set(), set()
        for path in glob.glob(f"{self._subject.home.runs}/*/record.*"):
            run_id = path.split("/")[-2]
            try:
                with open(path, "rb") as file:
                    lines = record_lines(file.read())
            except OSError:
                continue
            if not lines:
                perhaps.add(run_id)
            elif f"shim={shim}" in lines[0].split() and not any(line.startswith("exit ") for line in lines):
                lost.add(run_id)
        for path in glob.glob(f"{self._subject.home.runs}/*.[0-9]"):
            if not glob.glob(f"{path}/record.*"):
                perhaps.add(os.path.basename(path))  # the shim was about to make one
        return lost, perhaps

    def _reuse_pids(self, index: int, fault: Fault) -> None:
        """Kill the daemon and a shim with all its processes, and start decoys with their pids."""
        daemon = self._subject.daemon_pid()
        if daemon is None or not send_signal(daemon, signal.SIGSTOP):
            return
        victims = self._kill_shim(fault)
        for pid in victims[1:]:
            send_signal(pid, signal.SIGKILL)
        self._kill("daemon", daemon)
        wait_until(lambda: not self._are_there(victims), within=DEAD_WITHIN)
        time.sleep(3 * CLOCK_STEP)  # no system gives out a pid again within the resolution of start times
        for pid in victims[:3]:
            self.counts["reused pids"] += self._decoys.start_as(pid)
        self.daemons.begin(index + 1, kind=fault.then, wait=True)

    def _are_there(self, pids: list[int]) -> bool:
        self._subject.reap()
        return any(os.path.exists(f"/proc/{pid}") for pid in pids)

    # Clients.

    def _start_client(self, client: int, *, point: str = "", nth: int = 1) -> None:
        armed = {kill_points.VARIABLE: f"{point}:{nth}"} if point else {}
        words = ("-m", "tests.chaos.client", self._subject.base, str(client), repr(self._began))
        pid = self._clients[client] = self._subject.spawn(*words, log=f"client.{client}.log", **armed)
        self._points[pid] = point

    def _kill_client(self, fault: Fault) -> None:
        client = fault.pick % self._plan.clients
        pid = self._clients.get(client)
        if pid is not None and send_signal(pid, signal.SIGKILL):
            self.counts["kill client"] += 1
            self._points.pop(pid)
            wait_until(lambda: self._subject.is_over(pid), within=VICTIM_WITHIN)
            self._start_client(client, point=fault.point, nth=fault.nth)

    # Temporary faults.

    def _pause(self, fault: Fault, among: list[Process]) -> None:
        if among and send_signal(victim := among[fault.pick % len(among)].pid, signal.SIGSTOP):
            self.counts[fault.kind] += 1
            time.sleep(fault.span)
            send_signal(victim, signal.SIGCONT)

    def _step_clock_if_due(self, index: int) -> None:
        """Step the clock while there is no daemon, if that is due."""
        passed = time.monotonic() - self._began
        for later in range(index, len(self._plan.faults)):
            fault = self._plan.faults[later]
            if fault.kind == "clock" and fault.at <= passed and later not in self.daemons.done:
                self.daemons.done.add(later)
                self._inject(later, fault)

    def _write_clock(self, step: float) -> None:
        with open(self._subject.clock + ".new", "w") as file:
            file.write(str(step))
        os.replace(self._subject.clock + ".new", self._subject.clock)

    def _fill_disk(self, fault: Fault) -> None:
        self.filled_disk = True
        self.counts["disk full"] += 1
        file = os.open(f"{self._subject.home.path}/ballast", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        deadline = time.monotonic() + fault.span
        while time.monotonic() < deadline:
            # Repeatedly: whatever is freed meanwhile is taken too.
            with suppress(OSError):
                while os.write(file, bytes(1 << 16)):
                    pass
            time.sleep(0.02)
        os.close(file)
        self._free_disk()

    def _free_disk(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(f"{self._subject.home.path}/ballast")


def _state(pid: int) -> str:
    """Return the state of a descendant; one that is gone counts as dead."""
    return next((each.state for each in below(os.getpid()) if each.pid == pid), "Z")
