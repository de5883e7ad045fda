"""The part of the fleet in PostgreSQL that is about the input and the pauses of runs: `sql/input.sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from errands.hosts.agents import accepted
from errands.ports.fleet.input import Input

if TYPE_CHECKING:
    from errands.hosts.connections import Connections


class InputCalls:
    _connections: Connections

    async def send(self, home: str, key: str, piece: Input) -> None:
        await self._connections.rows(
            "select fleet.send(%s, %s, %s, %s, %s)", home, key, piece.piece, piece.content, piece.is_last
        )

    async def inputs(self, number: int, *, since: int) -> list[Input]:
        found = await self._connections.records("select * from fleet.list_inputs(%s, %s)", (number, since))
        return [Input(**row) for row in found]

    async def answer_input(
        self, number: int, *, attempt: int, host: str, epoch: int, piece: int, reply: str
    ) -> bool:
        values = (number, attempt, host, epoch, piece, reply)
        sql = "select fleet.answer_input(%s, %s, %s, %s, %s, %s)"
        return accepted(await self._connections.one(sql, *values))

    async def input_replies(self, number: int, *, since: int) -> dict[int, str]:
        found = await self._connections.rows(
            "select piece, reply from fleet.input_replies(%s, %s)", number, since
        )
        return dict(found)

    async def pause(self, home: str, key: str, *, wanted: bool) -> None:
        await self._connections.rows("select fleet.pause(%s, %s, %s)", home, key, wanted)
