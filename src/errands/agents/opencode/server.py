"""The HTTP API of an OpenCode server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from errands.config.secret import read_secret
from errands.http import AsyncClient, HttpError, Response, basic_auth
from errands.model.agent.install_hints import OPENCODE, no_server
from errands.model.errors import AgentError, AgentUnavailable, SessionGone
from errands.ports.bridges import URL

TIMEOUT = 15.0  # seconds for one reply; a server that is booting may never reply
SILENCE = 45.0  # seconds; a live stream has heartbeats more often
RECENT = 100  # messages: enough for most turns


class Server:
    def __init__(self, settings: Mapping[str, Any], *, password: str = "", socket: str | None = None) -> None:
        self.url = str(settings.get("url", URL))
        self.retries = int(settings.get("retries", 3))
        self._directories: dict[str, str] = {}
        if "password" in settings and not password:
            password = read_secret(str(settings["password"]))
        password = password or os.environ.get("OPENCODE_SERVER_PASSWORD", "")
        self._client = AsyncClient(
            self.url,
            headers=basic_auth(str(settings.get("username", "opencode")), password) if password else {},
            timeout=float(settings.get("timeout", TIMEOUT)),
            socket=socket,
        )

    async def create(self, directory: str, body: Mapping[str, Any]) -> str:
        session = await self._value("POST", "/session", directory=directory, body=body)
        return self._remember(session)

    async def fork(self, session: str, *, before: str | None = None) -> str:
        """Copy a session; with `before`, only what comes before that message."""
        directory = await self.directory(session)
        body = {"messageID": before} if before else {}
        path = f"/session/{session}/fork"
        return self._remember(await self._value("POST", path, directory=directory, body=body))

    async def session(self, session: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await self._value("GET", f"/session/{session}")
        self._remember(found)
        return found

    async def agent(self, name: str, directory: str) -> Mapping[str, Any] | None:
        """Return one of OpenCode's own agents; None for an unknown name."""
        agents = await self._value("GET", "/agent", directory=directory)
        return next((each for each in agents if each["name"] == name), None)

    async def is_ready(self) -> None:
        """Wait until the server replies; it may take long for its first reply."""
        await self._value("GET", "/global/health")

    async def change(self, session: str, body: Mapping[str, Any]) -> None:
        await self._value("PATCH", f"/session/{session}", body=body)

    async def delete(self, session: str) -> None:
        await self._value("DELETE", f"/session/{session}")

    async def directory(self, session: str) -> str:
        """Return where a session works; requests that are not about one session need it."""
        if session not in self._directories:
            await self.session(session)
        return self._directories[session]

    async def messages(self, session: str, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        query = {"limit": str(limit)} if limit else {}
        found: Sequence[Mapping[str, Any]] = await self._value(
            "GET", f"/session/{session}/message", query=query
        )
        return found

    async def state(self, session: str) -> Mapping[str, Any] | None:
        """Return what a session is doing; None if it is idle."""
        directory = await self.directory(session)
        states: Mapping[str, Any] = await self._value("GET", "/session/status", directory=directory)
        state: Mapping[str, Any] | None = states.get(session)
        return None if state and state.get("type") == "idle" else state

    async def requests(self, session: str) -> Sequence[Mapping[str, Any]]:
        """Return the permission requests that a session waits for."""
        directory = await self.directory(session)
        found = await self._value("GET", "/permission", directory=directory)
        return [each for each in found if each["sessionID"] == session]

    async def reply(self, session: str, request: str, body: Mapping[str, Any]) -> None:
        directory = await self.directory(session)
        await self._value("POST", f"/permission/{request}/reply", directory=directory, body=body)

    async def send(self, session: str, body: Mapping[str, Any]) -> None:
        """Send a prompt, at most once. Raise `HttpError` when it may have arrived."""
        path, directory = f"/session/{session}/prompt_async", await self.directory(session)
        await self._value("POST", path, directory=directory, body=body, once=True)

    async def add(self, session: str, body: Mapping[str, Any]) -> None:
        """Add a message without asking for an answer."""
        path, directory = f"/session/{session}/message", await self.directory(session)
        await self._value("POST", path, directory=directory, body={**body, "noReply": True}, once=True)

    async def abort(self, session: str) -> None:
        directory = await self.directory(session)
        await self._value("POST", f"/session/{session}/abort", directory=directory, body={})

    async def rewrite(self, part: Mapping[str, Any]) -> None:
        path = f"/session/{part['sessionID']}/message/{part['messageID']}/part/{part['id']}"
        await self._value("PATCH", path, body=part)

    async def remove(self, session: str, message: str) -> None:
        await self._value("DELETE", f"/session/{session}/message/{message}")

    async def events(self, session: str) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the events of a session until the stream breaks; the first one is `server.connected`."""
        query = {"directory": await self.directory(session)}
        async for event in self._client.events("/event", query=query, silence=SILENCE):
            about = event.get("properties", {}).get("sessionID")
            if about == session or event.get("type") == "server.connected":
                yield event

    def _remember(self, session: Mapping[str, Any]) -> str:
        self._directories[session["id"]] = session["directory"]
        name: str = session["id"]
        return name

    async def _value(
        self,
        method: str,
        path: str,
        *,
        directory: str | None = None,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        once: bool = False,
    ) -> Any:
        asked = {**(query or {}), **({"directory": directory} if directory else {})}
        for attempt in range(self.retries + 1):
            if attempt:
                await asyncio.sleep(0.25 * 2**attempt)
            try:
                reply = await self._client.request(method, path, query=asked, body=body)
                return self._checked(method, path, reply)
            except HttpError as error:
                trouble = error
                if once and error.was_sent:
                    raise
        why = str(trouble) if trouble.was_sent else no_server(OPENCODE)
        raise AgentUnavailable(f"OpenCode at {self.url} does not answer: {why}") from trouble

    def _checked(self, method: str, path: str, reply: Response) -> Any:
        if reply.code == 404 and path.startswith("/session/"):
            raise SessionGone
        if reply.code == 404 and path.startswith("/permission/"):
            return None  # answered elsewhere
        if reply.code == 401:
            raise AgentError(f"OpenCode at {self.url} requires a password; set `password` for this agent")
        if reply.code >= 300:
            said = reply.body[:300].decode(errors="replace")
            raise AgentError(f"OpenCode at {self.url} refuses {method} {path}: {reply.code} {said}")
        return reply.json()
