"""Subscriptions: notify a client that a task or its output changed, so that it need not poll.

Newer clients listen on a stream; older ones subscribe and are notified on their connection. Nothing is
replayed: a notification only says that it is worth reading the resource again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal

from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    Notification,
    NotificationParams,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams,
    SubscribeRequestParams,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from errands.engine.bell_line import BellLine
from errands.engine.waiting import LOOK
from errands.frontends.mcp.client import Client, Context
from errands.frontends.mcp.frontend import Frontend
from errands.frontends.mcp.resources import ROOT, parse_uri
from errands.frontends.mcp.tasks import Tasks
from errands.model.errors import BadValue, ErrandsError, NotFound
from errands.ports.dialect import Caller
from errands.ports.store import Query

_OUTPUT_POLL = 0.5  # seconds between two checks of the output of a task
_DEBOUNCE = 0.1  # seconds in which changes are collected into one notification
_MOST_NAMES = 100  # resources and tasks on one stream
_MOST = 200  # streams and subscriptions at the same time


class TaskParams(NotificationParams):
    """A task as `tasks/get` returns it."""

    model_config = {"extra": "allow"}


class TaskNotification(Notification[TaskParams, Literal["notifications/tasks"]]):
    method: Literal["notifications/tasks"] = "notifications/tasks"
    params: TaskParams


class Subscriptions:
    def __init__(self, frontend: Frontend, tasks: Tasks) -> None:
        self._frontend = frontend
        self._tasks = tasks
        self._count = 0
        self._subscribed: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def listen(
        self, ctx: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream: acknowledge what was accepted, then notify until the client disconnects."""
        if self._count >= _MOST:
            raise MCPError(INVALID_PARAMS, f"{_MOST} streams are open already; close one of them")
        client, requested = Client(ctx), params.notifications
        caller = self._frontend.caller(client)
        uris = list(dict.fromkeys(requested.resource_subscriptions or ()))[:_MOST_NAMES]
        named = (requested.model_extra or {}).get("taskIds") if client.has_tasks else None
        names = named if isinstance(named, list) else []
        ids = [each for each in names if isinstance(each, str)][:_MOST_NAMES]
        honoured = SubscriptionFilter(
            resources_list_changed=requested.resources_list_changed or None,
            resource_subscriptions=uris or None,
        )
        if ids:
            setattr(honoured, "taskIds", ids)  # noqa: B010  # a field of the extension
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}

        async def notify(note: Any) -> None:
            await ctx.session.send_notification(note, related_request_id=ctx.request_id)

        self._count += 1
        try:
            accepted = SubscriptionsAcknowledgedNotificationParams(notifications=honoured, _meta=meta)
            await notify(SubscriptionsAcknowledgedNotification(params=accepted))
            watched = _Watched(self._frontend, caller, uris, bool(requested.resources_list_changed))
            detailed = {each: self._detailed(client, each) for each in ids}
            async for changed in watched.changes(bool(ids)):
                for uri in changed:
                    await notify(_updated(uri, meta))
                for task_id in ids:
                    now = self._detailed(client, task_id)
                    if now is not None and now != detailed[task_id]:
                        detailed[task_id] = now
                        await notify(TaskNotification(params=TaskParams(_meta=meta, **now)))
        finally:
            self._count -= 1
        return SubscriptionsListenResult(_meta=meta)

    def _detailed(self, client: Client, task_id: str) -> dict[str, Any] | None:
        try:
            return self._tasks.detailed(client, task_id)
        except ErrandsError:
            return None

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        """Notify an older client about one resource, until it unsubscribes or the task has ended."""
        caller = self._frontend.caller(Client(ctx))
        task_id = self._watchable(caller, params.uri)
        if task_id is None:
            return EmptyResult()  # the client must not learn whether the task exists
        key = _subscription(ctx, params.uri)
        self._end(key)
        while len(self._subscribed) >= _MOST:
            self._end(next(iter(self._subscribed)))
        session = ctx.session

        async def notify() -> None:
            changes = _Watched(self._frontend, caller, [params.uri], False).changes(False)
            while not task_id or self._frontend.find(caller, task_id).is_open:
                await anext(changes)
                await session.send_resource_updated(params.uri)

        task = self._subscribed[key] = asyncio.create_task(notify())
        task.add_done_callback(lambda done: self._forget(key, done))
        return EmptyResult()

    def _watchable(self, caller: Caller, uri: str) -> str | None:
        """Return the task id in a URI, "" for all tasks, or None for a task that the caller cannot see."""
        if uri == ROOT:
            return ""
        try:
            return self._frontend.find(caller, parse_uri(uri)[0]).id
        except (NotFound, BadValue):
            return None

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        self._end(_subscription(ctx, params.uri))
        return EmptyResult()

    def close(self) -> None:
        for key in list(self._subscribed):
            self._end(key)

    def _end(self, key: tuple[str, str]) -> None:
        task = self._subscribed.pop(key, None)
        if task is not None:
            task.cancel()

    def _forget(self, key: tuple[str, str], done: asyncio.Task[None]) -> None:
        if self._subscribed.get(key) is done:
            del self._subscribed[key]
        if not done.cancelled():
            done.exception()  # the client has disconnected


class _Watched:
    """Some resources of one caller, compared with what they were at the last look."""

    def __init__(
        self, frontend: Frontend, caller: Caller, uris: Sequence[str], is_list_watched: bool
    ) -> None:
        self._frontend = frontend
        self._caller = caller
        self._is_list_watched = is_list_watched
        self._readers: dict[str, Callable[[], object]] = {uri: self._reader(uri) for uri in uris}

    async def changes(self, is_endless: bool) -> AsyncIterator[list[str]]:
        """Yield the URIs that changed, until closed; an empty text stands for the list of resources."""
        if not (self._readers or self._is_list_watched or is_endless):
            await asyncio.Event().wait()  # nothing is watched: the stream only stays open
        engine = self._frontend.engine.engine
        # The bell does not ring for output, so that is polled.
        pause = _OUTPUT_POLL if self._readers or is_endless else LOOK
        seen, listed = self._facts(), self._task_ids()
        async with BellLine(engine, ("*",), ensure_daemon=lambda: None) as line:
            while True:
                # Collect changes that come together. Without a daemon the bell never rings.
                await asyncio.sleep(_DEBOUNCE if engine.bell.is_answered() else pause)
                await line.news(pause)
                now, known = self._facts(), self._task_ids()
                changed = [uri for uri in now if now[uri] != seen[uri]]
                changed += [""] if known != listed else []
                seen, listed = now, known
                if changed or is_endless:
                    yield changed

    def _facts(self) -> dict[str, object]:
        return {uri: read() for uri, read in self._readers.items()}

    def _task_ids(self) -> object:
        if not self._is_list_watched:
            return None
        return [view.id for view in self._frontend.tasks(self._caller, limit=50)]

    def _reader(self, uri: str) -> Callable[[], object]:
        if uri == ROOT:
            return lambda: [(view.id, view.state) for view in self._frontend.tasks(self._caller, limit=50)]
        try:
            task_id, is_output, _ = parse_uri(uri)
            view = self._frontend.find(self._caller, task_id)
        except ErrandsError:
            return lambda: None
        return lambda: self._read(view.id, is_output)

    def _read(self, task_id: str, is_output: bool) -> object:
        engine = self._frontend.engine.engine
        found = engine.list(Query(ids=(task_id,)))
        if not found:
            return None
        view = found[0]
        if not is_output:
            return view.state, view.latest.id, view.progress
        end = engine.tail(view.id, 1).next_offset
        return view.latest.id, view.is_live, end


def _updated(uri: str, meta: dict[str, Any]) -> Any:
    if not uri:
        return ResourceListChangedNotification(params=NotificationParams(_meta=meta))
    return ResourceUpdatedNotification(params=ResourceUpdatedNotificationParams(uri=uri, _meta=meta))


def _subscription(ctx: Context, uri: str) -> tuple[str, str]:
    """Return the key of a subscription: over HTTP there are many sessions, over stdio one."""
    headers = ctx.request.headers if ctx.request is not None else {}
    return headers.get("mcp-session-id", ""), uri
