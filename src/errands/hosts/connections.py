"""Connections to the fleet's database that never hang, and are replaced when they break.

A cut link looks like a slow answer. libpq would wait for many minutes, so every call has a deadline, after
which its socket is shut down. A call whose connection breaks is made again until then: each call of the
protocol may be repeated.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import re
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import conninfo, errors
from psycopg.rows import dict_row, tuple_row
from psycopg.types.json import set_json_dumps

from errands.model.errors import BadValue, FleetError, FleetUnreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PATIENCE = 8.0  # seconds for a call, all its tries included
PING = 3.0  # seconds between two signs of life of a connection that only listens
_LINK = {
    "application_name": "errands",
    "connect_timeout": "3",
    "keepalives_count": "3",
    "keepalives_idle": "2",
    "keepalives_interval": "1",
    "tcp_user_timeout": "4000",
}
_SESSION = {
    "idle_in_transaction_session_timeout": "10s",
    # The protocol copes with lost answers, but not with losing what was answered.
    "synchronous_commit": "on",
    "search_path": "fleet_wire",
    "statement_timeout": "6s",
}
# What another try may cure: the server is down, starts, stops, or is still a copy of another one.
_PASSING = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    TimeoutError,
    errors.ReadOnlySqlTransaction,
    errors.ObjectNotInPrerequisiteState,
)
# A NUL character, and not a backslash before a text that looks like one.
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


class Connections:
    """A few connections, kept open between calls."""

    def __init__(self, url: str, *, most: int = 6) -> None:
        self._parameters = _parameters(url)
        self._room = asyncio.Semaphore(most)
        self._idle: dict[psycopg.AsyncConnection[Any], set[str]] = {}  # and the calls that each has made
        self._closed = False

    @property
    def place(self) -> str:
        """Say where the database is, without secrets."""
        known = self._parameters
        return f"{known.get('dbname', 'the default database')} at {known.get('host') or 'the local socket'}"

    @property
    def role(self) -> str:
        return str(self._parameters.get("user") or os.environ.get("PGUSER") or getpass.getuser())

    @property
    def forbidden(self) -> str:
        return (
            f"the role {self.role!r} may not use the fleet in {self.place}; "
            f"the owner of the database allows it with: select fleet.grant_host('{self.role}')"
        )

    async def connect(self) -> psycopg.AsyncConnection[Any]:
        """Open a connection for the caller alone; each statement is a transaction."""
        connection = await psycopg.AsyncConnection.connect(**self._parameters, autocommit=True)
        set_json_dumps(_json, connection)
        return connection

    async def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return await self._tried(sql, values, tuple_row)

    async def one(self, sql: str, *values: Any) -> Any:
        """Return the only value of the only row."""
        return (await self.rows(sql, *values))[0][0]

    async def records(self, sql: str, values: Any = ()) -> list[dict[str, Any]]:
        return await self._tried(sql, values, dict_row)

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            connection, _ = self._idle.popitem()
            await connection.close()

    async def _tried(self, sql: str, values: Any, shape: Any) -> list[Any]:
        """Run a statement, again if its connection breaks, until the deadline."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        pause = 0.0
        while True:
            try:
                return await self._once(sql, values, shape, deadline)
            except _PASSING as error:
                _heed_cancellation(error)
                # A connection that broke while it was idle says so only now, so the first pause is none.
                if self._closed or loop.time() + pause >= deadline:
                    raise FleetUnreachable(self.unreachable(error)) from error
                await asyncio.sleep(pause)
                pause = min(pause * 2 or 0.05, 1.0)
            except errors.InsufficientPrivilege as error:
                raise FleetError(self.forbidden) from error

    async def _once(self, sql: str, values: Any, shape: Any, deadline: float) -> list[Any]:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout_at(deadline):
            await self._room.acquire()
        try:
            connection, calls = self._idle_for(sql) or (await self.connect(), set[str]())
            try:
                timer = loop.call_at(deadline, sever, connection)
                try:
                    async with connection.cursor(row_factory=shape) as cursor:
                        await cursor.execute(sql.encode(), values)
                        found: list[Any] = await cursor.fetchall() if cursor.description else []
                finally:
                    timer.cancel()
            except BaseException:
                await _discard(connection)
                raise
            if self._closed:
                await connection.close()
            else:
                self._idle[connection] = calls | {sql}
            return found
        finally:
            self._room.release()

    def _idle_for(self, sql: str) -> tuple[psycopg.AsyncConnection[Any], set[str]] | None:
        """Take an idle connection, if possible one that has made this call before.

        The server compiles the functions behind a call for every connection anew, which takes milliseconds.
        """
        if not self._idle:
            return None
        known = (each for each, calls in reversed(self._idle.items()) if sql in calls)
        connection = next(known, None) or next(reversed(self._idle))
        return connection, self._idle.pop(connection)

    def unreachable(self, error: BaseException) -> str:
        reason = " ".join(str(error).split()) or type(error).__name__
        return f"the fleet's database ({self.place}) does not answer: {reason}"

    async def listen(self, channels: Sequence[str], wake: Callable[[], None]) -> None:
        """Call `wake` for every notification and after every new connection; never return."""
        pause = 0.05
        while True:
            try:
                async with await self.connect() as connection:
                    for channel in channels:
                        await connection.execute(psycopg.sql.SQL("listen {}").format(_name(channel)))
                    pause = 0.05
                    wake()
                    await self._heed(connection, wake)
            except _PASSING as error:
                _heed_cancellation(error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)

    async def _heed(self, connection: psycopg.AsyncConnection[Any], wake: Callable[[], None]) -> None:
        """Pass on notifications until the connection breaks, or gives no sign of life."""
        loop = asyncio.get_running_loop()
        while True:
            async for _ in connection.notifies(timeout=PING):
                wake()
            timer = loop.call_later(PING, sever, connection)
            try:
                await connection.execute("select 1")
            finally:
                timer.cancel()


def _json(value: Any) -> str:
    """Write a value as JSON that PostgreSQL takes, whatever a program printed or a file is called."""
    text = json.dumps(value, ensure_ascii=False)
    if not text.isascii():
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return _NUL.sub("\\1\ufffd", text) if "\\u0000" in text else text


def _heed_cancellation(error: BaseException) -> None:
    """Stay cancelled: psycopg raises its own error if the connection breaks during a cancellation."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from error


def _name(channel: str) -> psycopg.sql.Identifier:
    return psycopg.sql.Identifier(channel)


def sever(connection: psycopg.AsyncConnection[Any]) -> None:
    """Let whatever waits for this connection fail at once."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


async def _discard(connection: psycopg.AsyncConnection[Any]) -> None:
    with suppress(psycopg.Error):
        await connection.close()


def _parameters(url: str) -> dict[str, Any]:
    """Add short time limits to an address; its own settings win."""
    try:
        said = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise BadValue(
            "this is not the address of a PostgreSQL database; write it as postgresql://USER@HOST/DATABASE"
        ) from None
    session = " ".join(f"-c {name}={value}" for name, value in _SESSION.items())
    return {**_LINK, **said, "options": f"{session} {said.get('options') or ''}".strip()}
