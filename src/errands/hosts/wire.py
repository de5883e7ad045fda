"""The wire: procrastinate brings the offers that a host could take, as many at once as it has slots.

A job only says that a run may be taken; whether it is, the fleet's own tables decide. The job is held as long
as the run takes, which is how slots are counted. procrastinate's own connector gives up when the server is
away for a while, and its listener may end unseen; ours goes on, so the worker above it never notices.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from procrastinate import App, exceptions, sql
from procrastinate.connector import BaseAsyncConnector
from psycopg import errors
from psycopg.types.json import Jsonb

from errands.model.errors import FleetError, FleetUnreachable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

    from procrastinate.connector import BaseConnector, Notify

    from errands.hosts.connections import Connections

TASK = "offer"
POLL = 1.0  # seconds: what a lost notification costs
_HEARTBEAT = 60.0
_NEVER = 86400.0  # seconds between things of procrastinate that we do not use
_INSERTED = json.dumps({"type": "job_inserted", "job_id": 0})
_FETCH, _FINISH = sql.queries["fetch_job"], sql.queries["finish_job"]


class OfferedRun:
    """Room on this host for a run that it could take."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.over = asyncio.Event()

    def done(self) -> None:
        self.over.set()


async def offers(
    connections: Connections, *, queues: Sequence[str], slots: int, may_take: Callable[[], bool]
) -> AsyncGenerator[OfferedRun, None]:
    """Yield offers for these queues until closed; each keeps its slot until it is done."""
    waiting: asyncio.Queue[OfferedRun] = asyncio.Queue()
    connector = _Connector(connections, may_take=may_take)
    app = App(connector=connector)

    @app.task(name=TASK)
    async def offer(number: int) -> None:
        offered = OfferedRun(number)
        waiting.put_nowait(offered)
        await offered.over.wait()

    async with app.open_async():
        worker = asyncio.create_task(
            app.run_worker_async(
                queues=list(queues),
                concurrency=slots,
                install_signal_handlers=False,
                delete_jobs="always",
                fetch_job_polling_interval=POLL,
                abort_job_polling_interval=_NEVER,
                update_heartbeat_interval=_HEARTBEAT,
                stalled_worker_timeout=7 * _NEVER,
                shutdown_graceful_timeout=0,
            )
        )
        try:
            while True:
                getting = asyncio.create_task(waiting.get())
                await asyncio.wait({getting, worker}, return_when=asyncio.FIRST_COMPLETED)
                if not getting.done():
                    getting.cancel()
                    await worker
                    raise FleetError("procrastinate's worker ended by itself")
                yield getting.result()
        finally:
            connector.closing = True
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker


class _Connector(BaseAsyncConnector):
    """Runs procrastinate's statements on our connections, patiently."""

    def __init__(self, connections: Connections, *, may_take: Callable[[], bool]) -> None:
        self._connections = connections
        self._may_take = may_take
        self.closing = False

    def get_sync_connector(self) -> BaseConnector:
        return self

    async def open_async(self, pool: Any = None) -> None:
        """Do nothing: connections are opened when they are needed."""

    async def close_async(self) -> None:
        """Do nothing: others use the connections, too."""

    async def execute_query_async(self, query: str, **arguments: Any) -> None:
        await self.execute_query_all_async(query, **arguments)

    async def execute_query_one_async(self, query: str, **arguments: Any) -> dict[str, Any]:
        if query == _FETCH and not self._may_take():
            return {"id": None}
        found = await self.execute_query_all_async(query, **arguments)
        return found[0]

    async def execute_query_all_async(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        values = {name: _wrapped(value) for name, value in arguments.items()}
        while True:
            try:
                # What is left of a worker that ends is cleaned away later, so that is no reason to wait.
                async with asyncio.timeout(1.0 if self.closing else None):
                    return await self._connections.records(query, values)
            except (FleetUnreachable, TimeoutError):
                if self.closing:
                    return []
                await asyncio.sleep(0.1)
            except errors.ForeignKeyViolation:
                # Our worker was forgotten while we were out of touch.
                await self._connections.rows("select fleet.affirm_worker(%s)", arguments["worker_id"])
            except errors.RaiseException as error:
                if query == _FINISH:
                    return []  # the job was cleaned away; what counts is in our own tables
                raise exceptions.ConnectorException from error

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        woken = asyncio.Event()
        listening = asyncio.create_task(self._connections.listen(list(channels), woken.set))
        try:
            while True:
                await woken.wait()
                woken.clear()
                await on_notification(channel="", payload=_INSERTED)
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Jsonb(value)
    if isinstance(value, list):
        return [_wrapped(each) for each in value]
    return value
