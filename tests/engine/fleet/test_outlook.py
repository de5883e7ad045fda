"""Why runs wait for a host: in words, in the file of a home, and in what shows a task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from errands.engine.fleet import home_side
from errands.engine.fleet.outlook import UNREACHABLE, OutlookSide, why
from errands.hosts.fleet import PostgresFleet
from errands.model.errors import FleetUnreachable
from errands.model.record import evolve
from errands.model.view import as_json
from errands.ports.fleet import outlook
from errands.ports.fleet.outlook import ALL, Outlook
from errands.testing.engines import until
from errands.text import Look
from errands.text.describe import outcome, waits_for
from tests.engine.fleet.laptop import Laptop
from tests.hosts.fleets import facts

if TYPE_CHECKING:
    from errands.model.view import View
    from errands.ports.fleet.outlook import Wanted

pytestmark = pytest.mark.spec("X12")

LABEL = Outlook(
    selector="gpu", lane="shell", is_name=False, ready=0, others={}, width=None, used=0, settling=False
)
NAME = evolve(LABEL, selector="big", is_name=True)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (LABEL, "waiting for a host: no host in the fleet has the name or label gpu"),
        (evolve(NAME, others={"big": "gone"}), "waiting for a host: big is gone"),
        (evolve(NAME, others={"big": "silent"}), "waiting for a host: big is out of touch"),
        (evolve(NAME, others={"big": "draining"}), "waiting for a host: big is draining"),
        (evolve(NAME, others={"big": "no slots"}), "waiting for a host: big has no slots"),
        (
            evolve(LABEL, others={"a": "gone", "b": "draining"}),
            "waiting for a host: no host with the label gpu takes runs (a is gone, b is draining)",
        ),
        (
            evolve(LABEL, others=dict.fromkeys("abcde", "gone")),
            "waiting for a host: no host with the label gpu takes runs "
            "(a is gone, b is gone, c is gone, 2 more)",
        ),
        (evolve(NAME, ready=1), "waiting for a free slot on big"),
        (
            evolve(LABEL, ready=2, others={"a": "gone"}),
            "waiting for a free slot on a host with the label gpu",
        ),
        (
            evolve(NAME, ready=1, width=7, used=7),
            "waiting for room in lane shell of the whole fleet (limit 7)",
        ),
        (evolve(NAME, ready=1, width=7, used=6), "waiting for a free slot on big"),
        (
            evolve(NAME, ready=1, width=0, used=0),
            "waiting for room in lane shell of the whole fleet (limit 0: nothing starts)",
        ),
        (
            evolve(NAME, ready=1, settling=True),
            "waiting for a host: the fleet is recovering from a failover, and starts nothing until then",
        ),
    ],
)
def test_each_reason_is_one_plain_sentence(found: Outlook, said: str) -> None:
    assert why(found) == said


def test_the_note_says_it_about_each_host_and_lane_or_about_all(tmp_path: Path) -> None:
    note = str(tmp_path / "outlook")
    assert outlook.read(note, ("gpu", "shell")) == ""

    outlook.write(note, {("gpu", "my lane"): "because = of %20 this"})
    assert outlook.read(note, ("gpu", "my lane")) == "because = of %20 this"
    assert outlook.read(note, ("gpu", "shell")) == ""

    outlook.write(note, {ALL: "the database is away"})
    assert outlook.read(note, ("gpu", "shell")) == "the database is away"

    outlook.write(note, {})
    assert list(tmp_path.iterdir()) == []
    outlook.write(note, {})


class Away(PostgresFleet):
    """A real fleet that can be out of reach."""

    is_away = False
    asked = 0

    async def outlook(self, wanted: Sequence[Wanted]) -> list[Outlook]:
        self.asked += 1
        if self.is_away:
            raise FleetUnreachable("it does not answer")
        return await super().outlook(wanted)


async def test_what_shows_a_task_says_why_it_waits(
    laptop: Laptop, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home_side, "may_be_asked", lambda task: True)  # as if nobody had consented to it
    engine, fleet = laptop.engine.engine, Away(database)
    side = OutlookSide(engine, fleet, laptop.side.unplaced)
    await side.work()
    assert fleet.asked == 0, "nothing waits"
    (view,) = await laptop.place(1)

    async def shown() -> View:
        await laptop.side.work()
        await side.work()
        return engine.get(view.id)

    look = Look(columns=80)
    away = f"waiting for a host: {UNREACHABLE}"
    await until(lambda: engine.get(view.id).no_host == away)  # says its real host process, once
    seen = await shown()
    assert (seen.state, seen.runs_on) == ("pending", "")
    said = "waiting for a host: no host in the fleet has the name or label big"
    assert seen.no_host == as_json(seen)["no_host"] == said
    assert waits_for(seen, at=seen.created_at) == outcome(seen, look, at=seen.created_at) == said

    lease = await fleet.join(facts("big"))
    await fleet.drain("big", wanted=True)
    assert (await shown()).no_host == "waiting for a host: big is draining"

    fleet.is_away = True
    with pytest.raises(FleetUnreachable):
        await shown()
    assert engine.get(view.id).no_host == away
    fleet.is_away = False
    assert (await shown()).no_host == "waiting for a host: big is draining"

    await fleet.drain("big", wanted=False)
    [taken] = [await anext(fleet.taken(host=facts("big")))]
    seen = await shown()
    assert (seen.state, seen.no_host, seen.runs_on) == ("pending", "waiting to start on big", "big")
    begun = {"begun": True}
    assert await fleet.report(taken.number, attempt=1, host="id-big", epoch=lease.epoch, view=begun)
    seen = await shown()
    assert (seen.state, seen.no_host, seen.runs_on) == ("running", "", "big")
    assert not Path(engine.home.outlook).exists(), "nothing waits any more"
    ended = {"code": "0"}
    assert await fleet.finish(taken.number, attempt=1, host="id-big", epoch=lease.epoch, outcome=ended)
    await fleet.close()
