"""Watching: telling a client that a task or its output changed, so that it need not ask again and again.

Newer clients listen on a stream; older ones subscribe, and are told on their connection. Nothing is replayed:
news says that it is worth a look, and what is true is read.
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
from errands.frontends.mcp.door import Door
from errands.frontends.mcp.resources import ROOT, taken_apart
from errands.frontends.mcp.tasks import Tasks
from errands.model.errors import BadValue, ErrandsError, NotFound
from errands.ports.dialect import Caller
from errands.ports.store import Query

_LOOK = 0.5  # seconds between two looks at what a task prints
_GATHER = 0.1  # seconds in which changes are gathered
_MOST_NAMES = 100  # resources and tasks on one stream
_MOST = 200  # streams and subscriptions at the same time


class TaskParams(NotificationParams):
    """A task as `tasks/get` tells it."""

    model_config = {"extra": "allow"}


class TaskNotification(Notification[TaskParams, Literal["notifications/tasks"]]):
    method: Literal["notifications/tasks"] = "notifications/tasks"
    params: TaskParams


class Subscriptions:
    def __init__(self, door: Door, tasks: Tasks) -> None:
        self._door = door
        self._tasks = tasks
        self._count = 0
        self._subscribed: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def listen(
        self, ctx: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream: say what will be told on it, then tell it until the client leaves."""
        if self._count >= _MOST:
            raise MCPError(INVALID_PARAMS, f"{_MOST} streams are open already; close one of them")
        client, wanted = Client(ctx), params.notifications
        caller = self._door.caller(client)
        uris = list(dict.fromkeys(wanted.resource_subscriptions or ()))[:_MOST_NAMES]
        named = (wanted.model_extra or {}).get("taskIds") if client.has_tasks else None
        ids = (
            [each for each in named if isinstance(each, str)][:_MOST_NAMES] if isinstance(named, list) else []
        )
        honoured = SubscriptionFilter(
            resources_list_changed=wanted.resources_list_changed or None,
            resource_subscriptions=uris or None,
        )
        if ids:
            setattr(honoured, "taskIds", ids)  # noqa: B010  # a name that the extension adds
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        self._count += 1
        try:
            await ctx.session.send_notification(
                SubscriptionsAcknowledgedNotification(
                    params=SubscriptionsAcknowledgedNotificationParams(notifications=honoured, _meta=meta)
                ),
                related_request_id=ctx.request_id,
            )
            watched = _Watched(self._door, caller, uris, bool(wanted.resources_list_changed))
            detailed = {each: self._detailed(client, each) for each in ids}
            async for changed in watched.changes(bool(ids)):
                for note in changed:
                    await ctx.session.send_notification(_note(note, meta), related_request_id=ctx.request_id)
                for task_id in ids:
                    now = self._detailed(client, task_id)
                    if now is not None and now != detailed[task_id]:
                        detailed[task_id] = now
                        news = TaskNotification(params=TaskParams(_meta=meta, **now))
                        await ctx.session.send_notification(news, related_request_id=ctx.request_id)  # type: ignore[arg-type]
        finally:
            self._count -= 1
        return SubscriptionsListenResult(_meta=meta)

    def _detailed(self, client: Client, task_id: str) -> dict[str, Any] | None:
        try:
            return self._tasks.detailed(client, task_id)
        except ErrandsError:
            return None

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        """Tell an older client about one resource, until it does not want to know or the task has ended."""
        caller = self._door.caller(Client(ctx))
        task_id = self._watchable(caller, params.uri)
        if task_id is None:
            return EmptyResult()  # whoever waits for what is not there waits, and is not told whether it is
        place = _place(ctx, params.uri)
        self._end(place)
        while len(self._subscribed) >= _MOST:
            self._end(next(iter(self._subscribed)))
        session = ctx.session

        async def tell() -> None:
            changes = _Watched(self._door, caller, [params.uri], False).changes(False)
            while not task_id or self._door.find(caller, task_id).is_open:
                await anext(changes)
                await session.send_resource_updated(params.uri)

        task = self._subscribed[place] = asyncio.create_task(tell())
        task.add_done_callback(lambda done: self._forget(place, done))
        return EmptyResult()

    def _watchable(self, caller: Caller, uri: str) -> str | None:
        """Name the task that an address is about; the empty text stands for all, None for nothing at all."""
        if uri == ROOT:
            return ""
        try:
            return self._door.find(caller, taken_apart(uri)[0]).id
        except (NotFound, BadValue):
            return None

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        self._end(_place(ctx, params.uri))
        return EmptyResult()

    def close(self) -> None:
        for place in list(self._subscribed):
            self._end(place)

    def _end(self, place: tuple[str, str]) -> None:
        task = self._subscribed.pop(place, None)
        if task is not None:
            task.cancel()

    def _forget(self, place: tuple[str, str], done: asyncio.Task[None]) -> None:
        if self._subscribed.get(place) is done:
            del self._subscribed[place]
        if not done.cancelled():
            done.exception()  # the client has left; there is nobody to tell


class _Watched:
    """Some resources of one caller, and how they were when they were last looked at."""

    def __init__(self, door: Door, caller: Caller, uris: Sequence[str], is_list_watched: bool) -> None:
        self._door = door
        self._caller = caller
        self._is_list_watched = is_list_watched
        self._looks: dict[str, Callable[[], object]] = {uri: self._look_at(uri) for uri in uris}

    async def changes(self, is_endless: bool) -> AsyncIterator[list[str]]:
        """Give the resources that changed, again and again; the empty text stands for the list of them."""
        if not (self._looks or self._is_list_watched or is_endless):
            await asyncio.Event().wait()  # there is nothing to tell: the stream only stays open
        engine = self._door.engine.engine
        # Nobody rings for output, so it is looked for; whatever else changes is rung for.
        pause = _LOOK if self._looks or is_endless else LOOK
        seen, listed = self._facts(), self._listed()
        async with BellLine(engine, ("*",), ensure_daemon=lambda: None) as line:
            while True:
                # What changes by the dozen is told once; where nobody runs the loops, nobody rings.
                await asyncio.sleep(_GATHER if engine.bell.is_answered() else pause)
                await line.news(pause)
                now, known = self._facts(), self._listed()
                changed = [uri for uri in now if now[uri] != seen[uri]]
                changed += [""] if known != listed else []
                seen, listed = now, known
                if changed or is_endless:
                    yield changed

    def _facts(self) -> dict[str, object]:
        return {uri: look() for uri, look in self._looks.items()}

    def _listed(self) -> object:
        if not self._is_list_watched:
            return None
        return [view.id for view in self._door.tasks(self._caller, limit=50)]

    def _look_at(self, uri: str) -> Callable[[], object]:
        if uri == ROOT:
            return lambda: [(view.id, view.state) for view in self._door.tasks(self._caller, limit=50)]
        try:
            task_id, is_output, _ = taken_apart(uri)
            view = self._door.find(self._caller, task_id)
        except ErrandsError:
            return lambda: None
        return lambda: self._look(view.id, is_output)

    def _look(self, task_id: str, is_output: bool) -> object:
        engine = self._door.engine.engine
        found = engine.list(Query(ids=(task_id,)))
        if not found:
            return None
        view = found[0]
        if not is_output:
            return view.state, view.latest.id, view.progress
        end = engine.tail(view.id, 1).next_offset
        return view.latest.id, view.is_live, end


def _note(uri: str, meta: dict[str, Any]) -> Any:
    if not uri:
        return ResourceListChangedNotification(params=NotificationParams(_meta=meta))
    return ResourceUpdatedNotification(params=ResourceUpdatedNotificationParams(uri=uri, _meta=meta))


def _place(ctx: Context, uri: str) -> tuple[str, str]:
    """Name a subscription: over HTTP there are many sessions, over stdio there is one."""
    headers = ctx.request.headers if ctx.request is not None else {}
    return headers.get("mcp-session-id", ""), uri
