"""The part of the fleet in PostgreSQL that is about notices: `sql/notices.sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from errands.ports.fleet.notices import Letter, Unreported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from errands.hosts.connections import Connections


class NoticeCalls:
    _connections: Connections

    async def unreported(self, host: str, channels: Sequence[str]) -> list[Unreported]:
        sql = "select * from fleet.unreported(%s, %s)"
        return [Unreported(**row) for row in await self._connections.records(sql, (host, list(channels)))]

    async def claim_notices(self, number: int, host: str, addresses: Sequence[str]) -> list[str]:
        sql = "select * from fleet.claim_notices(%s, %s, %s)"
        return [address for (address,) in await self._connections.rows(sql, number, host, list(addresses))]

    async def queued_notice(self, number: int, host: str, address: str) -> None:
        await self._connections.rows("select fleet.queued_notice(%s, %s, %s)", number, host, address)

    async def post(self, home: str, *, sender: str, token: str, body: Mapping[str, Any]) -> bool:
        sql = "select fleet.post(%s, %s, %s, %s)"
        return bool(await self._connections.one(sql, home, sender, token, Jsonb(dict(body))))

    async def letters(self, home: str) -> list[Letter]:
        found = await self._connections.records("select * from fleet.letters_of(%s)", (home,))
        return [Letter(**row) for row in found]

    async def take_letters(self, home: str, numbers: Sequence[int]) -> None:
        await self._connections.rows("select fleet.take_letters(%s, %s::bigint[])", home, list(numbers))
