"""The application: a route for each operation of the table, the files of the page, and what is mounted.

Every request passes the guard first, then its key is checked, then its values, and only then its handler is
called, in a thread, with an engine of its own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route

from errands.engine.engine import Engine
from errands.engine.fleet.host_watch import HostWatch
from errands.frontends.tools.http_server import App, Receive, Scope, Send
from errands.frontends.web.api.bodies import LONGEST_BODY
from errands.frontends.web.api.openapi import document
from errands.frontends.web.api.operation import Operation
from errands.frontends.web.api.operations import OPERATIONS
from errands.frontends.web.api.request import body_of, values_of
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call, Download, Engines, Services, Text
from errands.frontends.web.callers import Callers
from errands.frontends.web.guard import Guard, RefusalError
from errands.frontends.web.handlers import HANDLERS
from errands.frontends.web.sign_in import Signing
from errands.frontends.web.static import page_file
from errands.frontends.web.stream import Streams
from errands.model import errors
from errands.model.errors import ErrandsError
from errands.model.text.sanitise import line
from errands.model.view import plain_value

_THREADS = 4  # requests that are answered at the same time; a slow one holds up no others
_STATUSES: tuple[tuple[type[ErrandsError], int], ...] = (
    (errors.NotFound, 404),
    (errors.SessionGone, 404),
    (errors.BadValue, 400),
    (errors.NotAPerson, 403),
    (errors.Denied, 403),
    (errors.ChannelError, 502),
    (errors.StoreError, 503),
    (errors.HomeError, 503),
    (errors.DaemonError, 503),
    (ErrandsError, 409),
)


class WebApp:
    """`hosts` and `origins` are the names of this server, `origin` that of a proxy in front of it.

    `mounted` are other applications by their path, with the largest body that each takes.
    """

    def __init__(
        self,
        *,
        engine: Engine,
        services: Services,
        signing: Signing,
        url: str,
        hosts: list[str],
        origins: list[str],
        origin: str,
        mounted: dict[str, tuple[App, int]],
    ) -> None:
        self._services = services
        self._signing = signing
        self._url = url
        self._callers = Callers(signing, origin)
        self._engines = Engines(services.open_engine)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="errands-web")
        self._streams = Streams(engine, self._engines, self._threads, self._callers.is_signed_in)
        self._hosts = HostWatch(engine.home, services.open_fleet)
        self._mounted = {path: app for path, (app, _) in mounted.items()}
        self._routes = [(Route(each.path, _unused, methods=[each.method]), each) for each in OPERATIONS]
        largest = {**{path: size for path, (_, size) in mounted.items()}, "": LONGEST_BODY}
        self.app: App = Guard(self._enter, hosts=hosts, origins=origins, largest=largest)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._live(receive, send)
        if (app := self._mounted.get(scope["path"])) is not None:
            return await app(scope, receive, send)
        try:
            response = await self._routed(Request(scope, receive))
        except ErrandsError as error:
            raise refusal_of(error) from error
        return await response(scope, receive, send)

    async def _routed(self, request: Request) -> Response:
        """Return the answer of the operation that a request is for, or a file of the page."""
        allowed: list[str] = []
        for route, operation in self._routes:
            match, found = route.matches(request.scope)
            if match is Match.FULL and request.method == operation.method:  # a route takes HEAD with GET
                request.scope.update(found)
                return await self._answer(operation, request)
            if match is not Match.NONE:
                allowed.append(operation.method)
        path = line(request.url.path[:200])
        if allowed:
            detail = f"{request.method} is not possible here, only {' and '.join(allowed)}"
            raise RefusalError(405, detail, "NotAllowed", allow=", ".join(allowed))
        if request.method not in ("GET", "HEAD") or path.startswith("/api/"):
            raise RefusalError(404, f"there is no {line(request.method[:20])} {path}", "NotFound")
        return page_file(request.url.path, request.headers.get("accept-encoding", ""))

    async def _live(self, receive: Receive, send: Send) -> None:
        """Start and stop with the server, together with what is mounted."""
        await receive()
        async with AsyncExitStack() as stack:
            try:
                for app in self._mounted.values():
                    await stack.enter_async_context(_started(app))
            except ErrandsError as error:
                return await send({"type": "lifespan.startup.failed", "message": str(error)})
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self._streams.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        return await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, operation: Operation, request: Request) -> Response:
        needs = operation.needs
        identify = self._callers.anonymous if needs == "nothing" else self._callers.identify
        caller = identify(request.scope)
        values = values_of(operation, request.path_params, request.scope["query_string"])
        body = body_of(operation, request.headers.get("content-type", ""), await request.body())
        if operation.name == "openapi":
            return _json(document(self._url), 200)
        if operation.name == "hosts":
            return _json(await _list_hosts(self._hosts), 200)
        if operation.name == "stream":
            return await self._streams.open(caller, logs=values["logs"], after=values["after"])
        if operation.name == "sign-in":
            # Before the code is looked at: guessing is slow, and a run cannot even try.
            self._callers.failures.check()

        def work() -> Answer:
            call = Call(
                engine=self._engines.mine(),
                services=self._services,
                signing=self._signing,
                caller=caller,
                values=values,
                body=body,
                agent=request.headers.get("user-agent", ""),
                accept=request.headers.get("accept", ""),
                url=self._url,
            )
            if needs == "person":
                call.require_person()
            return HANDLERS[operation.name](call)

        try:
            answer = await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except RefusalError as refusal:
            if operation.name == "sign-in":
                self._callers.failures.note()
            raise refusal
        if operation.name in ("sign-out", "end-session"):
            self._streams.wake()  # those of the session end
        return self._response(operation, answer)

    def _response(self, operation: Operation, answer: Answer) -> Response:
        if isinstance(answer, Download):
            name = quote(answer.name.encode("utf-8", "replace"), safe="")
            return StreamingResponse(
                self._pieces(answer),
                media_type="application/octet-stream",
                headers={"content-disposition": f"attachment; filename*=UTF-8''{name}"},
            )
        if isinstance(answer, Text):
            # Starlette would add a charset to the type, which has one already.
            return Response(answer.content, headers={"content-type": answer.content_type, "vary": "Accept"})
        return _json(answer, operation.status)

    async def _pieces(self, download: Download) -> AsyncIterator[bytes]:
        """Read the pieces of a download in a thread, one at a time."""
        loop = asyncio.get_running_loop()
        while piece := await loop.run_in_executor(self._threads, lambda: download.read(self._engines.mine())):
            yield piece


def refusal_of(error: ErrandsError) -> RefusalError:
    """Turn an error of the engine into a refusal: its message, its class, and a status."""
    status = next(status for kind, status in _STATUSES if isinstance(error, kind))
    # Callers get one name for everything that is not found.
    kind = errors.NotFound if isinstance(error, errors.UnknownTask) else type(error)
    return RefusalError(status, line(str(error)), kind.__name__)


async def _list_hosts(watch: HostWatch) -> dict[str, Any]:
    """Return the hosts, none if this home is not in a fleet; say why if they cannot be listed."""
    if not watch.is_member:
        return {"member": False, "hosts": []}
    try:
        found = await watch.hosts()
    except ErrandsError as error:
        raise RefusalError(503, line(str(error)), type(error).__name__) from error
    now = datetime.now(UTC)
    return {
        "member": True,
        "hosts": [
            shaped(
                "Host",
                each,
                seen_at=plain_value(now - timedelta(seconds=each.seen)),
                own=each.id == watch.own,
            )
            for each in found
        ],
    }


async def _unused(request: Request) -> Response:
    """A stand-in for an endpoint: routes are only used for matching."""
    raise AssertionError(request)


def _json(facts: Any, status: int) -> Response:
    content = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(content, status_code=status, media_type="application/json")


@asynccontextmanager
async def _started(app: App) -> AsyncIterator[None]:
    """Let an application start as its server would, and shut it down at the end."""
    incoming: asyncio.Queue[Any] = asyncio.Queue()
    outgoing: asyncio.Queue[Any] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}}
    task = asyncio.ensure_future(app(scope, incoming.get, outgoing.put))
    await incoming.put({"type": "lifespan.startup"})
    started = await outgoing.get()
    if started["type"] != "lifespan.startup.complete":
        raise ErrandsError(f"a mounted server cannot start: {started.get('message', '')}")
    try:
        yield
    finally:
        await incoming.put({"type": "lifespan.shutdown"})
        await task
