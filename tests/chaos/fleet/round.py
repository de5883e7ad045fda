"""A round: four homes, one server, commands that every home places on the others, and faults meanwhile."""

from __future__ import annotations

import itertools
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.model.view import View
from errands.ports.store import Query
from tests.chaos.fleet.clocks import make_steppable
from tests.chaos.fleet.faults import Fault, Faults, restored
from tests.chaos.fleet.homes import LABEL, ChaosHome
from tests.chaos.fleet.mutants import break_protocol
from tests.chaos.fleet.network import Network
from tests.chaos.fleet.witness import Life, Witness
from tests.chaos.processes import wait_until
from tests.chaos.violation import Violation
from tests.postgres import DURABLE, Server

if TYPE_CHECKING:
    from errands.model.limits import OnLoss

DEED = str(Path(__file__).with_name("deed.sh"))
NAMES = ("ada", "bob", "cem", "dot")
LEASE = 6.0  # seconds; users have five times as much
PACE = LEASE / 30
RENEWALS = 6  # in a lease, as users have
SETTLED = 300.0
MOST_LOSSES = 3  # executions of one run that may be begun anew
# Commands that do nothing, submitted at once before each eighth fault: hosts take some of them ahead.
BURST = 40
_ENDED = ("completed", "failed", "cancelled", "skipped")


@dataclass
class Played:
    seed: int
    violations: list[Violation] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    tasks: int = 0
    lives: int = 0
    forgotten: list[int] = field(default_factory=list)
    ahead: int = 0
    returned: int = 0

    def line(self) -> str:
        ends = ", ".join(f"{count} {what}" for what, count in sorted(self.ends.items()))
        verdict = f"{len(self.violations)} broken promises" if self.violations else "kept every promise"
        count = sum(self.faults.values())
        lost = f", {self.forgotten} commits lost in failovers" if self.forgotten else ""
        kinds = ", ".join(f"{number} {name}" for name, number in sorted(self.faults.items()))
        return (
            f"seed {self.seed}: {count} faults ({kinds}){lost}, "
            f"{self.tasks} tasks, {self.lives} executions, {self.ahead} taken ahead, "
            f"{self.returned} given back, {ends}: {verdict}"
        )


@dataclass
class PlannedTask:
    token: str
    home: int
    seconds: float
    code: int
    retries: int
    on_loss: OnLoss = "lost"
    stubborn: bool = False  # it ignores SIGTERM
    gate: str = ""  # a file: it runs until that exists, not for `seconds`


def play(
    seed: int,
    *,
    tasks: int,
    faults: int,
    keep: bool = False,
    only: Sequence[str] = (),
    mutant: str = "",
    clocks: bool = False,
) -> Played:
    """Play one seed, and check what was promised; `mutant` is what is broken on purpose."""
    base = Path(tempfile.mkdtemp(prefix=f"errands-fleet-{seed}-"))
    played = Played(seed)
    is_judged = False  # or the round broke down
    dice = random.Random(seed)
    with Network("db", *NAMES) as network:
        server = Server(settings=DURABLE, host=network.address("db"), on=network.on("db"))
        server.start()
        homes = []
        witness = Witness(base / "witness")
        try:
            url = server.url(server.create_database())
            homes = [ChaosHome(base, name, network, url, clock=clocks) for name in NAMES]
            join(homes, server, mutant=mutant)
            planned_tasks = [_deed(dice, number) for number in range(tasks)]
            with _engines(homes) as engines:

                def work() -> None:
                    planned = _deed(dice, len(planned_tasks), most_seconds=0.5)
                    planned_tasks.append(planned)
                    submit(engines[planned.home], planned, witness)

                known = Faults(homes, network, server, work, pace=PACE, clocks=clocks)
                chosen = {name: fault for name, fault in known.all.items() if not only or name in only}
                _storm(planned_tasks, chosen, homes, engines, witness, played, dice, faults)
            played.forgotten = known.forgotten
            played.ahead, played.returned = _taken_ahead(server)
            played.tasks = len(planned_tasks)
            _judge(planned_tasks, homes, witness, played)
            is_judged = True
        finally:
            for home in homes:
                home.close()
            witness.close()
            server.remove()
            if keep and (played.violations or not is_judged):
                print(f"kept in {base}", flush=True)
            else:
                shutil.rmtree(base, ignore_errors=True)
    return played


def join(homes: list[ChaosHome], server: Server, *, lease: float = LEASE, mutant: str = "") -> None:
    """Have all homes join, with a lease that is shorter than what users have."""
    for number, home in enumerate(homes):
        home.join()
        if not number:  # the first one makes the tables, and reads the durations when it joins again
            assert wait_until(lambda: _hosts(server) == 1, within=120), home.log
            make_steppable(server)
            server.execute(
                f"update fleet.clock set lease = '{lease} s', renewal = '{lease / RENEWALS} s',"
                f" slack = '2 s', quiet = '{lease + 2} s', steady = '{lease} s'",
                database="fleet1",
            )
            break_protocol(server, mutant)
            home.join()
    assert wait_until(lambda: _hosts(server) == len(homes), within=120), [home.log for home in homes]


def _hosts(server: Server) -> int:
    try:
        return int(
            server.execute("select count(*) from fleet.hosts where state = 'up'", database="fleet1")[0][0]
        )
    except Exception:  # noqa: BLE001  # there are no tables yet
        return 0


@contextmanager
def _engines(homes: list[ChaosHome]) -> Iterator[list[Engine]]:
    engines = [home.engine() for home in homes]
    try:
        yield engines
    finally:
        for engine in engines:
            engine.close()


def _taken_ahead(server: Server) -> tuple[int, int]:
    """Return how many runs hosts took ahead, and how often one came back, as far as the server knows."""
    sql = "select count(*) filter (where ahead or returned > 0), coalesce(sum(returned), 0) from fleet.runs"
    ((ahead, returned),) = server.execute(sql, database="fleet1")
    return int(ahead), int(returned)


def _deed(
    dice: random.Random, number: int, *, most_seconds: float = 6.0, home: int | None = None
) -> PlannedTask:
    return PlannedTask(
        token=f"deed{number}",
        home=dice.randrange(len(NAMES)) if home is None else home,
        seconds=min(dice.choice((0.0, 0.1, 0.5, 2.0, 6.0)), most_seconds),
        code=dice.choice((0, 0, 0, 3)),
        retries=dice.choice((0, 0, 2)),
        on_loss=dice.choice(("lost", "lost", "again")),
    )


def _storm(
    planned_tasks: list[PlannedTask],
    faults: dict[str, Fault],
    homes: list[ChaosHome],
    engines: list[Engine],
    witness: Witness,
    played: Played,
    dice: random.Random,
    count: int,
) -> None:
    """Submit the commands, a few before each fault, and let all of them end."""
    with restored(homes):
        rest = list(planned_tasks)
        for number in range(count):
            share = len(rest) // (count - number)
            for planned in rest[:share]:
                submit(engines[planned.home], planned, witness)
            rest = rest[share:]
            if not dice.randrange(8):
                planned_tasks += _burst(dice, engines, len(planned_tasks), witness)
            time.sleep(dice.uniform(0, 1))
            name = dice.choice(list(faults))
            played.faults[name] += 1
            faults[name](dice)
        for planned in rest:
            submit(engines[planned.home], planned, witness)
    if not wait_until(lambda: all(map(_is_quiet, engines)), within=SETTLED, every=0.5):
        for home, engine in zip(homes, engines, strict=True):
            waiting = [f"{view.name} {view.id} {view.state}" for view in views(engine) if not is_over(view)]
            if waiting:
                played.violations.append(Violation("F1", f"{home.name} still waits for {waiting}"))


def _burst(dice: random.Random, engines: list[Engine], number: int, witness: Witness) -> list[PlannedTask]:
    """Submit commands that do nothing, all at once."""
    home = dice.randrange(len(NAMES))
    burst = [_deed(dice, number + n, most_seconds=0.0, home=home) for n in range(BURST)]
    engines[home].submit_all([_draft(planned, witness) for planned in burst])
    return burst


def submit(engine: Engine, planned: PlannedTask, witness: Witness, *, host: str = LABEL) -> None:
    engine.submit(_draft(planned, witness, host=host))


def _draft(planned: PlannedTask, witness: Witness, *, host: str = LABEL) -> Draft:
    lasts = planned.gate or str(planned.seconds)
    words = ["/bin/sh", DEED, str(witness.path), planned.token, lasts, str(planned.code)]
    if planned.stubborn:
        words.append("stubborn")
    return Draft(
        command=tuple(words), name=planned.token, key=planned.token, cwd="/", host=host, owner="ann",
        notify="always", retries=planned.retries, on_loss=planned.on_loss,
    )  # fmt: skip


def views(engine: Engine) -> list[View]:
    return [view for view in engine.list(Query()) if view.name.startswith("deed") and view.key == view.name]


def is_over(view: View) -> bool:
    return view.state in _ENDED


def _is_quiet(engine: Engine) -> bool:
    return all(map(is_over, views(engine)))


def _judge(
    planned_tasks: list[PlannedTask], homes: list[ChaosHome], witness: Witness, played: Played
) -> None:
    lives: dict[str, list[Life]] = {}
    wait_until(lambda: not witness.living(), within=30)
    for life in witness.lives:
        lives.setdefault(life.token, []).append(life)
    played.lives = len(witness.lives)
    violations = played.violations
    violations += [
        Violation("F2", f"{life.token} is alive after its end (pid {life.pid})") for life in witness.living()
    ]
    for home in homes:
        engine = home.engine()
        try:
            found = {view.name: view for view in views(engine)}
            notices = Counter(notice.run_id for notice in engine.take_notices("ann", reader="chaos"))
            for planned in (each for each in planned_tasks if homes[each.home] is home):
                _judge_task(
                    planned, found.get(planned.token), lives.get(planned.token, []), engine, notices, played
                )
        finally:
            engine.close()


def _judge_task(
    planned: PlannedTask,
    view: View | None,
    lives: list[Life],
    engine: Engine,
    notices: Counter[str],
    played: Played,
) -> None:
    violations = played.violations
    if view is None:
        violations.append(Violation("F1", f"{planned.token} was submitted and is gone"))
        return
    runs = engine.get(view.id).history
    end = f"{view.state} {runs[-1].failure or ''}".strip()
    played.ends[end] += 1
    what = f"{planned.token} ({view.id}, {end}, {len(runs)} runs)"
    if len(lives) > len(runs) * (MOST_LOSSES if planned.on_loss == "again" else 1):
        violations.append(Violation("F3", f"{what} was started {len(lives)} times: {lives}"))
    ordered = sorted(lives, key=lambda life: life.start)
    for before, after in itertools.pairwise(ordered):
        if before.ran_after(after.start):
            violations.append(Violation("F3", f"{what} ran twice at once: {before}, {after}"))
    for run in runs:
        wanted = 1 if run is runs[-1] else 0  # a failure that is tried again is not reported
        if run.state not in _ENDED:
            violations.append(Violation("F1", f"{what}: {run.id} is {run.state}"))
        elif notices[run.id] != wanted:
            violations.append(
                Violation("F4", f"{what}: {run.id} was reported {notices[run.id]} times, not {wanted}")
            )
        elif run.failure == "lost":
            if not run.error:
                violations.append(Violation("F5", f"{what}: {run.id} is lost, and nothing says why"))
        elif run.failure == "signal" and played.faults["kill home"]:
            pass  # its shim saw it die, and died later
        elif run.exit_code != planned.code:
            said = f"{run.state} {run.failure}, exit code {run.exit_code}: {run.error}"
            violations.append(
                Violation("F6", f"{what}: {run.id} should end with {planned.code}, and is {said}")
            )
    proper = sum(run.exit_code == planned.code for run in runs)
    told = sum(life.code == planned.code for life in lives)
    if proper > told:
        violations.append(
            Violation("F6", f"{what} has {proper} results, and {told} executions reached their end")
        )
