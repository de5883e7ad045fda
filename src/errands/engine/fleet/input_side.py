"""Input for placed runs, on its way from the spool of this home to the fleet, and the answers back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from errands.ports.fleet import spool
from errands.ports.rundir import CUT_SHORT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from errands.engine.engine import Engine
    from errands.model.run import Run
    from errands.ports.fleet import Fleet, PlacedView


class InputSide:
    def __init__(self, engine: Engine, fleet: Fleet, home: str) -> None:
        self._engine = engine
        self._fleet = fleet
        self._home = home
        self._sent: dict[str, int] = {}
        self._answered: dict[str, int] = {}

    def send_again(self) -> None:
        """Send everything once more, because the fleet may have lost its last commits; each counts once."""
        self._sent.clear()

    def keep_only(self, keys: Mapping[str, object]) -> None:
        """Forget runs that are over."""
        for kept in (self._sent, self._answered):
            for key in kept.keys() - keys.keys():
                del kept[key]

    async def send(self, key: str, run: Run) -> None:
        """Send what is new in the spool of a run."""
        directory = self._engine.home.run(run.id)
        for number in spool.numbers(directory):
            if number > self._sent.get(key, 0):
                await self._fleet.send(self._home, key, spool.read(directory, number))
                self._sent[key] = number

    async def receive(self, view: PlacedView, directory: str) -> None:
        """Note what became of the input of a run."""
        before, last = self._answered.get(view.key, 0), max(spool.numbers(directory), default=0)
        if before >= last:
            return
        answers = await self._fleet.input_replies(view.number, since=before)
        for number in range(before + 1, last + 1):
            answer = answers.get(number, CUT_SHORT if view.outcome is not None else None)
            if answer is None:
                break
            spool.reply(directory, number, answer)
            self._answered[view.key] = number
