"""The fleet in PostgreSQL: every call of a function in `sql/` is one transaction."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from errands.hosts import schema
from errands.hosts.agents import AgentCalls
from errands.hosts.agents import accepted as _accepted
from errands.hosts.connections import Connections
from errands.hosts.input import InputCalls
from errands.hosts.notices import NoticeCalls
from errands.hosts.turns import FIELDS, Turns
from errands.model.errors import BadValue
from errands.model.record import fields
from errands.ports.fleet import (
    FleetLane,
    FoundRun,
    HostView,
    Lease,
    Orders,
    Piece,
    PlacedView,
    Reply,
    Request,
    Stop,
    Taken,
)
from errands.ports.fleet.outlook import Outlook

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence

    from errands.ports.fleet import HostFacts, Placed, Wish
    from errands.ports.fleet.outlook import Wanted

POLL = 1.0  # seconds: what a lost notification costs
_QUEUE_BYTES = 32  # as fleet.queue_of has it
_CHANNEL = "procrastinate_queue_v1#"  # where procrastinate says that a queue has a job
_VIEW = "number, home, key, task, state, attempt, host, selector, lane, view, outcome"


class PostgresFleet(AgentCalls, InputCalls, NoticeCalls):
    """What homes agree on, in the database at `url`."""

    def __init__(self, url: str) -> None:
        self._connections = Connections(url)
        self._turns = Turns(self._connections)

    async def open(self) -> None:
        await schema.prepare(self._connections)

    async def close(self) -> None:
        await self._turns.close()
        await self._connections.close()

    # Hosts

    async def join(self, host: HostFacts) -> Lease:
        ((epoch, seconds, renewal, taken_by),) = await self._connections.rows(
            "select epoch, seconds, renewal, taken_by from fleet.join(%s, %s, %s, %s, %s, %s)",
            host.id,
            host.name,
            list(host.labels),
            host.slots,
            host.version,
            host.boot,
        )
        if taken_by is not None:
            raise BadValue(f"another host of this fleet is named {host.name!r}; join under another name")
        self._turns.host = (host.id, epoch)
        self._turns.may_take = True
        self._turns.has.clear()
        return Lease(epoch=epoch, seconds=seconds, interval=renewal)

    async def renew(self, host: str, epoch: int, *, free: int, tails: Sequence[Piece] = ()) -> Orders | None:
        found = await self._connections.one(
            "select fleet.renew(%s, %s, %s, %s::bigint[], %s::integer[], %s::bigint[], %s::bytea[])",
            host,
            epoch,
            free,
            *_columns(tails),
        )
        if found is None:
            self._turns.may_take = False
            return None
        orders = Orders(
            stops=tuple(Stop(number=n, attempt=a, grace=grace) for n, a, grace in found["stops"]),
            followed=tuple(found["followed"]),
            draining=found["draining"],
            settling=found["settling"],
            timeline=found["timeline"],
            pauses=tuple((number, wanted) for number, wanted in found["pauses"]),
            inputs=tuple((number, last) for number, last in found["inputs"]),
        )
        self._turns.host = (host, epoch)
        self._turns.may_take = not orders.draining and not orders.settling
        self._turns.pause({number for number, wanted in orders.pauses if wanted})
        return orders

    async def drain(self, name: str, *, wanted: bool) -> bool:
        return bool(await self._connections.one("select fleet.drain(%s, %s)", name, wanted))

    async def leave(self, host: str, epoch: int) -> None:
        self._turns.may_take = False
        await self._connections.rows("select fleet.leave(%s, %s)", host, epoch)

    async def hosts(self) -> list[HostView]:
        found = await self._connections.records("select * from fleet.list_hosts()")
        return [HostView(**{**row, "labels": tuple(row["labels"])}) for row in found]

    async def outlook(self, wanted: Sequence[Wanted]) -> list[Outlook]:
        sql = "select * from fleet.outlook(%s, %s)"
        hosts, lanes = [host for host, _ in wanted], [lane for _, lane in wanted]
        return [Outlook(**row) for row in await self._connections.records(sql, (hosts, lanes))]

    async def set_lane(self, name: str, width: int | None) -> None:
        await self._connections.rows("select fleet.set_lane(%s, %s)", name, width)

    async def lanes(self) -> list[FleetLane]:
        found = await self._connections.records("select * from fleet.list_lanes()")
        return [FleetLane(**row) for row in found]

    async def reap(self) -> int:
        if self._turns.host is None:
            return 0
        return int(await self._connections.one("select fleet.reap(%s, %s)", *self._turns.host))

    # The home that has the task

    async def offer(self, placed: Placed) -> int:
        (number,) = await self.offer_all([placed])
        return number

    async def offer_all(self, several: Sequence[Placed]) -> list[int]:
        offers = [{name: getattr(placed, name) for name in fields(placed)} for placed in several]
        found = await self._connections.rows("select fleet.offer_all(%s)", Jsonb(offers))
        return [number for (number,) in found]

    async def cancel(self, home: str, key: str, *, grace: float) -> None:
        await self._connections.rows("select fleet.cancel(%s, %s, %s)", home, key, grace)

    async def results(self, home: str) -> list[PlacedView]:
        return _views(await self._connections.rows(f"select {_VIEW} from fleet.results(%s)", home))

    async def acknowledge(self, home: str, keys: Sequence[str], *, continued: Sequence[str] = ()) -> None:
        await self._connections.rows(
            "select fleet.acknowledge(%s, %s, %s)", home, list(keys), list(continued)
        )

    async def follow(self, numbers: Sequence[int], *, seconds: float) -> None:
        await self._connections.rows(
            "select fleet.follow(number, %s) from unnest(%s::bigint[]) f (number)", seconds, list(numbers)
        )

    async def output(self, number: int, *, attempt: int, start: int) -> list[Piece]:
        return await self.outputs([(number, attempt, start)])

    async def outputs(self, wanted: Sequence[tuple[int, int, int]]) -> list[Piece]:
        found = await self._connections.records(
            "select * from fleet.outputs(%s::bigint[], %s::integer[], %s::bigint[])",
            [[*column] for column in zip(*wanted, strict=True)],
        )
        return [Piece(**row) for row in found]

    # The host that runs it

    async def taken(self, *, host: HostFacts, ahead: Callable[[], int] = int) -> AsyncIterator[Taken]:
        queues = dict.fromkeys(queue_of(selector) for selector in ("*", host.name, *host.labels))
        found = self._turns.taken([f"{_CHANNEL}{queue}" for queue in queues], slots=host.slots, ahead=ahead)
        try:
            async for taken in found:
                yield taken
        finally:
            await found.aclose()

    async def held(self, host: str, epoch: int) -> list[Taken]:
        found = await self._connections.records(
            f"select {', '.join(FIELDS)} from fleet.held(%s, %s)", (host, epoch)
        )
        self._turns.has.update(row["number"] for row in found)
        return [Taken(**row) for row in found]

    async def affirm(self, host: str, epoch: int, runs: Sequence[Taken]) -> list[int]:
        claims = [
            {
                "attempt": run.attempt,
                "home": run.home,
                "key": run.key,
                "task": run.task,
                "selector": run.selector,
                "lane": run.lane,
                "priority": run.priority,
                "policy": run.policy,
                "body": dict(run.body),
            }
            for run in runs
        ]
        found = await self._connections.rows("select fleet.affirm(%s, %s, %s)", host, epoch, Jsonb(claims))
        refused = [number for (number,) in found]
        self._turns.has.update({run.number for run in runs} - {*refused})
        return refused

    async def report(
        self, number: int, *, attempt: int, host: str, epoch: int, view: Mapping[str, Any]
    ) -> bool:
        (accepted,) = await self.report_all({(number, attempt): view}, host=host, epoch=epoch)
        return accepted

    async def report_all(
        self, views: Mapping[tuple[int, int], Mapping[str, Any]], *, host: str, epoch: int
    ) -> list[bool]:
        runs = sorted(views)  # those who lock several do it in this order
        answers = await self._connections.rows(
            "select fleet.report(number, attempt, %s, %s, view)"
            " from unnest(%s::bigint[], %s::integer[], array(select jsonb_array_elements(%s)))"
            " r (number, attempt, view)",
            host,
            epoch,
            [number for number, _ in runs],
            [attempt for _, attempt in runs],
            Jsonb([dict(views[each]) for each in runs]),
        )
        return [_accepted(answer) for (answer,) in answers]

    async def store_output(self, pieces: Sequence[Piece], *, host: str, epoch: int) -> None:
        await self._connections.rows(
            "select fleet.keep_output(%s, %s, %s::bigint[], %s::integer[], %s::bigint[], %s::bytea[], false)",
            host,
            epoch,
            *_columns(pieces),
        )

    async def finish(
        self, number: int, *, attempt: int, host: str, epoch: int, outcome: Mapping[str, Any]
    ) -> bool:
        return _accepted(await self._turns.finish((host, epoch), number, attempt=attempt, outcome=outcome))

    async def lose(self, number: int, *, attempt: int, host: str, epoch: int, why: str) -> bool:
        accepted = _accepted(
            await self._connections.one(
                "select fleet.lose(%s, %s, %s, %s, %s)", number, attempt, host, epoch, why
            )
        )
        self._turns.forget(number)
        return accepted

    async def give_back(self, number: int, *, attempt: int, host: str, epoch: int) -> bool:
        sql = "select fleet.give_back(%s, %s, %s, %s)"
        accepted = _accepted(await self._connections.one(sql, number, attempt, host, epoch))
        self._turns.forget(number)
        return accepted

    async def changes(self, *, home: str) -> AsyncGenerator[None]:
        woken = asyncio.Event()
        woken.set()
        channel = f"fleet#{_md5(home)}"
        listening = asyncio.create_task(self._connections.listen([channel], woken.set))
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL):
                        await woken.wait()
                woken.clear()
                yield None
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    # Any home

    async def find(self, beginning: str) -> list[FoundRun]:
        found = await self._connections.records("select * from fleet.find(%s)", (beginning,))
        return [FoundRun(**row) for row in found]

    async def request(
        self, home: str, task: str, wish: Wish, *, author: str, body: Mapping[str, Any], token: str = ""
    ) -> int:
        values = (home, task, wish, token, Jsonb(dict(body)), author)
        return int(await self._connections.one("select fleet.request(%s, %s, %s, %s, %s, %s)", *values))

    async def reply_to(self, request: int) -> Reply | None:
        ((refusal, result),) = await self._connections.rows("select * from fleet.reply_to(%s)", request)
        return None if refusal is None else Reply(refusal=refusal, result=result)

    async def requests(self, home: str) -> list[Request]:
        found = await self._connections.records("select * from fleet.requests_of(%s)", (home,))
        return [Request(**row) for row in found]

    async def reply(self, home: str, request: int, reply: Reply) -> None:
        await self._connections.rows(
            "select fleet.reply(%s, %s, %s, %s)", home, request, reply.refusal, reply.result
        )

    async def placed(self, *, limit: int) -> list[PlacedView]:
        return _views(await self._connections.rows(f"select {_VIEW} from fleet.placed(%s)", limit))


def queue_of(selector: str) -> str:
    """Return the queue on the wire for a selector, as `fleet.queue_of` does in the database."""
    return selector if len(selector.encode()) <= _QUEUE_BYTES else _md5(selector)


def _md5(text: str) -> str:
    from hashlib import md5

    return md5(text.encode(), usedforsecurity=False).hexdigest()


def _columns(pieces: Sequence[Piece]) -> tuple[list[int], list[int], list[int], list[bytes]]:
    return (
        [piece.number for piece in pieces],
        [piece.attempt for piece in pieces],
        [piece.start for piece in pieces],
        [piece.content for piece in pieces],
    )


def _views(rows: list[tuple[Any, ...]]) -> list[PlacedView]:
    names = _VIEW.split(", ")
    return [PlacedView(**dict(zip(names, row, strict=True))) for row in rows]
