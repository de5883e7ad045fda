"""The part of the fleet in PostgreSQL that only agents need: `sql/agents.sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from errands.model.errors import FleetUnreachable
from errands.ports.fleet.agents import AgentAnswer, Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from errands.hosts.connections import Connections


class AgentCalls:
    _connections: Connections

    async def store_events(
        self,
        number: int,
        *,
        attempt: int,
        host: str,
        epoch: int,
        since: int,
        events: Sequence[Mapping[str, Any]],
    ) -> bool:
        return accepted(
            await self._connections.one(
                "select fleet.keep_events(%s, %s, %s, %s, %s, %s)",
                number,
                attempt,
                host,
                epoch,
                since,
                Jsonb([dict(each) for each in events]),
            )
        )

    async def store_steps(
        self,
        number: int,
        *,
        attempt: int,
        host: str,
        epoch: int,
        since: int,
        run: str,
        bodies: Sequence[str],
    ) -> bool:
        values = (number, attempt, host, epoch, since, run, list(bodies))
        sql = "select fleet.keep_steps(%s, %s, %s, %s, %s, %s, %s::text[])"
        return accepted(await self._connections.one(sql, *values))

    async def steps(self, number: int) -> list[Step]:
        found = await self._connections.records("select * from fleet.list_steps(%s)", (number,))
        return [Step(**row) for row in found]

    async def events(self, number: int, *, skip: int) -> list[Mapping[str, Any]]:
        found = await self._connections.rows("select * from fleet.list_events(%s, %s)", number, skip)
        return [body for (body,) in found]

    async def answer_agent(
        self, number: int, *, attempt: int, question: int, answer: Mapping[str, Any]
    ) -> None:
        await self._connections.rows(
            "select fleet.answer_agent(%s, %s, %s, %s)", number, attempt, question, Jsonb(dict(answer))
        )

    async def agent_answers(self, host: str, epoch: int) -> list[AgentAnswer]:
        found = await self._connections.records(
            "select number, attempt, question, answer from fleet.list_answers(%s, %s)", (host, epoch)
        )
        return [AgentAnswer(**row) for row in found]


def accepted(answer: str) -> bool:
    """Return whether a write of a host was accepted; raise while the fleet cannot know."""
    if answer == "settling":
        raise FleetUnreachable(
            "the fleet's database may have lost its last commits; hosts say first what they have"
        )
    return answer == "yes"
