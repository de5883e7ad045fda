"""The faults: each strikes one home or the server, lasts for a while, and is mended."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.chaos.fleet.clocks import HOUR, step_server
from tests.chaos.fleet.homes import ChaosHome
from tests.chaos.fleet.network import Network
from tests.postgres import Server

Fault = Callable[[random.Random], None]
FORGOTTEN = 200  # commits that a failover loses at least
LATE = 120.0  # seconds in which a fleet with work to do makes that many


class Faults:
    """`pace` scales every duration, as the lease of the fleet is scaled: 1 with the lease that users have.

    `work` submits a command, so that there is something to lose.
    """

    def __init__(
        self,
        homes: list[ChaosHome],
        network: Network,
        server: Server,
        work: Callable[[], None],
        *,
        pace: float,
        clocks: bool = False,
    ) -> None:
        self._homes = homes
        self._network = network
        self._server = server
        self._work = work
        self._pace = pace
        self.forgotten: list[int] = []  # how many commits each failover lost
        self.all: dict[str, Fault] = {
            "kill host process": lambda dice: self._kill(dice, host=True),
            "kill daemon": lambda dice: self._kill(dice, daemon=True),
            "kill daemon and host process": lambda dice: self._kill(dice, daemon=True, host=True),
            "kill home": self._kill,
            "stop host process": lambda dice: self._stop(dice, host=True),
            "stop daemon": lambda dice: self._stop(dice, daemon=True),
            "stop daemon and host process": lambda dice: self._stop(dice, daemon=True, host=True),
            "stop home": self._stop,
            "link down, short": lambda dice: self._cut(dice, Network.unplug, Network.plug_in, 10),
            "link down, long": lambda dice: self._cut(dice, Network.unplug, Network.plug_in, 60),
            "cut from a home": lambda dice: self._cut(dice, Network.cut_from, Network.mend, 60),
            "cut to a home": lambda dice: self._cut(dice, Network.cut_to, Network.mend, 60),
            "restart PostgreSQL": lambda dice: self._server.restart(dice.choice(("fast", "crash"))),
            "PostgreSQL away": self._take_server_away,
            "fail over": self._fail_over,
        }
        if clocks:
            self.all |= {
                "clock of a home jumps": self._step_home,
                "clock of PostgreSQL jumps": self._step_server,
            }

    def _kill(self, dice: random.Random, *, daemon: bool = False, host: bool = False) -> None:
        home = dice.choice(self._homes)
        home.strike(signal.SIGKILL, daemon=daemon, host=host)
        self._wait(dice.choice((0, 5, 60)))
        home.start()

    def _stop(self, dice: random.Random, *, daemon: bool = False, host: bool = False) -> None:
        home = dice.choice(self._homes)
        home.strike(signal.SIGSTOP, daemon=daemon, host=host)
        self._wait(dice.choice((10, 60)))
        home.strike(signal.SIGCONT, daemon=daemon, host=host)

    def _cut(
        self,
        dice: random.Random,
        cut: Callable[[Network, str], None],
        mend: Callable[[Network, str], None],
        seconds: float,
    ) -> None:
        name = dice.choice(self._homes).name
        cut(self._network, name)
        self._wait(seconds)
        mend(self._network, name)

    def _take_server_away(self, dice: random.Random) -> None:
        self._server.stop(dice.choice(("fast", "crash")))
        self._wait(30)
        self._server.start()

    def _fail_over(self, dice: random.Random) -> None:
        """Lose the last commits, which are about commands that were submitted and carried out meanwhile."""
        self._server.back_up()
        before, limit = self._commits(), time.monotonic() + LATE
        self._wait(dice.choice((1, 5)))
        while self._commits() - before < FORGOTTEN:
            assert time.monotonic() < limit, f"{self._commits() - before} commits in {LATE:.0f} s"
            self._work()
            time.sleep(dice.uniform(0.05, 0.2))
        self.forgotten.append(self._commits() - before)
        self._server.fail_over()

    def _commits(self) -> int:
        """Return how many transactions have written anything."""
        return int(self._server.execute("select pg_snapshot_xmax(pg_current_snapshot())::text::bigint")[0][0])

    def _step_home(self, dice: random.Random) -> None:
        """Set the clock of a home an hour ahead or back; the next jump may correct it."""
        dice.choice(self._homes).step_clock(dice.choice((-HOUR, 0.0, HOUR)))

    def _step_server(self, dice: random.Random) -> None:
        step_server(self._server, dice.choice((-HOUR, -20.0, 0.0, 20.0, HOUR)))

    def _wait(self, seconds: float) -> None:
        time.sleep(seconds * self._pace)


@contextmanager
def restored(homes: list[ChaosHome]) -> Iterator[None]:
    """Have every home run again in the end."""
    try:
        yield
    finally:
        for home in homes:
            home.strike(signal.SIGCONT)
            home.start()
