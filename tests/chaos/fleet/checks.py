"""Checks: one home is struck in the same way again and again, and every run that it had is looked at."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from errands.engine.fleet.host_process import BURNS
from errands.ports.home import read_fuse
from tests.chaos.fleet.homes import LABEL, ChaosHome
from tests.chaos.fleet.network import Network
from tests.chaos.fleet.round import RENEWALS, SETTLED, PlannedTask, is_over, join, submit, views
from tests.chaos.fleet.witness import WAKES, Witness, uptime
from tests.chaos.processes import wait_until
from tests.chaos.violation import Violation
from tests.postgres import DURABLE, Server

if TYPE_CHECKING:
    from errands.model.limits import OnLoss

LEASE = 15.0  # seconds: with it a fuse burns after 9 of them, and all is killed after 13
BATCH = 10  # runs that the home has at each strike
FOR_EVER = 1000.0
BACK_WITHIN = 5.0  # seconds after a restart of PostgreSQL
# Seconds that a failover may take for runs to go on: the fuse was set at a renewal before it, and after it a
# host tries every second to connect, and then to renew.
SHORT = LEASE * BURNS - LEASE / RENEWALS - 2
TRIES = 4  # of a strike that says nothing, because the machine was too slow


@dataclass
class Checked:
    name: str
    runs: int = 0
    violations: list[Violation] = field(default_factory=list)
    slowest: float = 0.0
    away: list[float] = field(default_factory=list)
    to_spare: list[float] = field(default_factory=list)

    def line(self) -> str:
        took = f", at most {self.slowest:.1f} s until starts were as quick as before" if self.slowest else ""
        if self.away:
            took = f", {len(self.away)} failovers of {min(self.away):.1f} to {max(self.away):.1f} s"
            void = sum(each >= SHORT for each in self.away)
            took += f" ({void} of them too long to count)" if void else ""
        if self.to_spare:
            least, most = max(0.0, min(self.to_spare)), max(self.to_spare)
            took = f", back {least:.1f} to {most:.1f} s before a fuse burned"
            void = sum(each <= 0 for each in self.to_spare)
            took += f" ({void} strikes too late to count)" if void else ""
        return f"{self.name}: {self.runs} runs, {len(self.violations)} broken promises{took}"


class _Stage:
    """Ada places runs on bob, and cem gives up bob when it is out of touch."""

    def __init__(self, base: Path, network: Network, server: Server, mutant: str) -> None:
        self.network, self.server = network, server
        url = server.url(server.create_database())
        self.homes = [ChaosHome(base, name, network, url, slots=BATCH) for name in ("ada", "bob", "cem")]
        self.ada, self.bob, _ = self.homes
        join(self.homes, server, lease=LEASE, mutant=mutant)
        self.witness = Witness(base / "witness")
        self.back: list[float] = []  # how long after each restart starts were quick again
        self.away: list[float] = []  # how long each failover took
        self.to_spare: list[float] = []  # how long each fuse still held when the next daemon was there

    def start_in(self, token: str) -> float:
        """Return how many seconds pass between submitting a run and its start on bob."""
        engine = self.ada.engine()
        try:
            before = uptime()
            submit(engine, PlannedTask(token, 0, 0.0, 0, 0), self.witness, host=self.bob.name)
        finally:
            engine.close()
        assert wait_until(lambda: bool(self._starts(token)), within=SETTLED), self.bob.log
        return self._starts(token)[0] - before

    def _starts(self, token: str) -> list[float]:
        return [life.start for life in self.witness.lives if life.token == token]

    def place(
        self, first: int, seconds: float, on_loss: OnLoss = "lost", *, host: str = "bob", gate: str = ""
    ) -> list[str]:
        """Have bob run a batch, or whoever has the label; half of it does not end when it is asked to."""
        planned_tasks = [
            PlannedTask(f"deed{first + n}", 0, seconds, 0, 0, on_loss, stubborn=n % 2 == 0, gate=gate)
            for n in range(BATCH)
        ]
        engine = self.ada.engine()
        try:
            for planned in planned_tasks:
                submit(engine, planned, self.witness, host=host)
        finally:
            engine.close()
        tokens = [planned.token for planned in planned_tasks]
        if not wait_until(lambda: self.living(tokens) == set(tokens), within=SETTLED):
            raise AssertionError(
                f"not all run at once: {self.ends(tokens)}, {self.witness.lives}\n{self.bob.log}"
            )
        return tokens

    def replace_daemon(self) -> float:
        """Kill the daemon of bob and start another one; return how long the fuse still held by then."""
        self.bob.strike(signal.SIGKILL, daemon=True)
        # Its host process goes with it, and may renew the lease once more before.
        assert wait_until(lambda: "host" not in self.bob.processes().values(), within=SETTLED, every=0.05)
        burns = read_fuse(self.bob.home.fuse)
        assert burns is not None, self.bob.log
        self.bob.start()
        assert wait_until(lambda: read_fuse(self.bob.home.fuse) != burns, within=SETTLED, every=0.05)
        return burns - uptime()

    def living(self, tokens: list[str]) -> set[str]:
        return {life.token for life in self.witness.living() if life.token in tokens}

    def wait_for_lease(self) -> None:
        """Wait until the lease of bob is over."""
        ((left,),) = self.server.execute(
            "select extract(epoch from lease_until - chaos.clock_timestamp()) from fleet.hosts"
            " where name = 'bob'",
            database="fleet1",
        )
        time.sleep(max(0.0, float(left)))

    def wait_for_state(self, state: str, *, within: float = SETTLED) -> bool:
        """Wait until the fleet says this about bob; return whether it does."""
        sql = "select state from fleet.hosts where name = 'bob'"
        return wait_until(
            lambda: self.server.execute(sql, database="fleet1") == [(state,)], within=within, every=0.1
        )

    def ends(self, tokens: list[str]) -> dict[str, str]:
        """Wait until ada knows the ends of runs, and return them."""
        engine = self.ada.engine()
        try:
            wait_until(lambda: all(is_over(v) for v in views(engine)), within=SETTLED, every=0.5)
            return {
                view.name: f"{view.state} {engine.get(view.id).history[-1].failure or ''}".strip()
                for view in views(engine)
                if view.name in tokens
            }
        finally:
            engine.close()


def _kill_both(stage: _Stage, first: int) -> list[Violation]:
    """Kill daemon and host process together: the fuses end everything before the lease is over."""
    tokens = stage.place(first, FOR_EVER)
    stage.bob.strike(signal.SIGKILL, daemon=True, host=True)
    stage.wait_for_lease()
    broken = _alive(stage, tokens)
    stage.bob.start()
    return broken + _not(stage, tokens, "failed lost")


def _partition(stage: _Stage, first: int) -> list[Violation]:
    """Cut bob off, in one of three ways: the same holds."""
    tokens = stage.place(first, FOR_EVER)
    cut = (Network.unplug, Network.cut_from, Network.cut_to)[first // (BATCH * BATCH) % 3]
    cut(stage.network, "bob")
    stage.wait_for_lease()
    broken = _alive(stage, tokens)
    stage.network.plug_in("bob")
    stage.network.mend("bob")
    return broken + _not(stage, tokens, "failed lost")


def _sleep(stage: _Stage, first: int) -> list[Violation]:
    """Let all of bob stand still until it is given up, and wake its shims last: everything ends."""
    tokens = stage.place(first, FOR_EVER)
    stage.bob.strike(signal.SIGSTOP)
    assert stage.wait_for_state("gone"), stage.bob.log
    stage.bob.strike(signal.SIGCONT, daemon=True, host=True)
    stage.wait_for_state("up", within=LEASE / 2)
    stage.bob.strike(signal.SIGCONT)
    wait_until(lambda: not stage.living(tokens), within=WAKES, every=0.05)
    return _alive(stage, tokens) + _not(stage, tokens, "failed lost")


def _begin_anew(stage: _Stage, first: int) -> list[Violation]:
    """Kill daemon and host process, and start them: what may run again does, and its result is its own."""
    gate = stage.witness.path.with_name(f"gate{first}")  # so that none ends before it is killed
    tokens = stage.place(first, FOR_EVER, "again", gate=str(gate))
    stage.bob.strike(signal.SIGKILL, daemon=True, host=True)
    stage.wait_for_lease()
    broken = _alive(stage, tokens)
    gate.touch()
    stage.bob.start()
    return broken + _not(stage, tokens, "completed") + _not_lived(stage, tokens, [None, 0])


def _fail_over(stage: _Stage, first: int) -> list[Violation]:
    """Lose every commit about a batch: its hosts say that they have it, and nobody begins it anew.

    That is promised for outages that no fuse notices, so a longer one is caused once more.
    """
    for number in range(first, first + TRIES * BATCH, BATCH):
        stage.server.back_up()
        tokens = stage.place(number, 2 * LEASE, "again", host=LABEL)
        stage.away.append(stage.server.fail_over())
        if stage.away[-1] < SHORT:
            return _not(stage, tokens, "completed") + _not_lived(stage, tokens, [0])
        stage.ends(tokens)
    raise AssertionError(f"the failovers took {stage.away[-TRIES:]} s, and must take less than {SHORT} s")


def _kill_daemon(stage: _Stage, first: int) -> list[Violation]:
    """Kill the daemon alone: the next one goes on with every run.

    That is promised if it is there before the fuse burns, so a slower one is killed once more.
    """
    for number in range(first, first + TRIES * BATCH, BATCH):
        tokens = stage.place(number, LEASE)
        stage.to_spare.append(stage.replace_daemon())
        if stage.to_spare[-1] > 0:
            return _not(stage, tokens, "completed")
        stage.ends(tokens)
    raise AssertionError(f"the fuse burned before the next daemon moved it on: {stage.to_spare[-TRIES:]} s")


def _restart(stage: _Stage, first: int) -> list[Violation]:
    """Restart PostgreSQL: soon runs start as quickly as before, and no process had to be started again."""
    normal = median(stage.start_in(f"deed{first + n}") for n in range(5))
    processes = stage.bob.processes()
    hosts = [pid for pid, what in processes.items() if what != "other"]
    stage.server.restart("fast" if first // (BATCH * BATCH) % 2 else "crash")
    up, number, took = uptime(), first + 5, float("inf")
    while took > max(2 * normal, normal + 0.2) and number < first + 100:
        took = stage.start_in(f"deed{number}")
        number += 1
    stage.back.append(uptime() - up)
    broken = []
    if stage.back[-1] > BACK_WITHIN:
        broken.append(
            Violation("F7", f"starts took {stage.back[-1]:.1f} s to be as quick as before a restart")
        )
    if [pid for pid, what in stage.bob.processes().items() if what != "other"] != hosts:
        broken.append(Violation("F7", "a process of the host was started again"))
    return broken


CHECKS: dict[str, Callable[[_Stage, int], list[Violation]]] = {
    "kill of daemon and host process": _kill_both,
    "partition": _partition,
    "sleep": _sleep,
    "loss of what may run again": _begin_anew,
    "failover": _fail_over,
    "kill of the daemon": _kill_daemon,
    "restart of PostgreSQL": _restart,
}


def check(name: str, *, runs: int, mutant: str = "") -> Checked:
    """Strike until so many runs were looked at."""
    base = Path(tempfile.mkdtemp(prefix="errands-fleet-check-"))
    checked = Checked(name)
    with Network("db", "ada", "bob", "cem") as network:
        server = Server(settings=DURABLE, host=network.address("db"), on=network.on("db"))
        server.start()
        stage = None
        try:
            stage = _Stage(base, network, server, mutant)
            for number in range(0, runs, BATCH):
                checked.violations += CHECKS[name](stage, number * BATCH)
                checked.runs += BATCH
            checked.slowest = max(stage.back, default=0.0)
            checked.away, checked.to_spare = stage.away, stage.to_spare
        finally:
            if stage is not None:
                for home in stage.homes:
                    home.close()
                stage.witness.close()
            server.remove()
            shutil.rmtree(base, ignore_errors=True)
    return checked


def _alive(stage: _Stage, tokens: list[str]) -> list[Violation]:
    return [Violation("F2", f"{token} is alive after its lease") for token in sorted(stage.living(tokens))]


def _not_lived(stage: _Stage, tokens: list[str], codes: list[int | None]) -> list[Violation]:
    """Compare the executions of each command with how they should have ended, None for killed."""
    broken = []
    for token in tokens:
        lives = [life for life in stage.witness.lives if life.token == token]
        if [life.code for life in lives] != codes:
            broken.append(Violation("F3", f"the executions of {token} should end with {codes}: {lives}"))
    return broken


def _not(stage: _Stage, tokens: list[str], wanted: str) -> list[Violation]:
    ends = stage.ends(tokens)
    return [
        Violation("F5", f"{token} should be {wanted}, and is {ends.get(token)}")
        for token in tokens
        if ends.get(token) != wanted
    ]
