"""A fake Discord for tests: REST and gateway on loopback, as much of them as a bot needs.

It serves from a thread, so that real processes can connect. The test plays the people, who react, press
buttons and type commands, and decides what breaks.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import zlib
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from aiohttp import WSMsgType, web
from discord.utils import time_snowflake

from tests.channels.discord_shapes import (
    BOT,
    CONTENT,
    GUILD,
    MEMBER,
    PLACES,
    button_of,
    guild,
    public,
    user_of,
    written,
)

T = TypeVar("T")
WITHIN = 60.0
_FLUSH = zlib.Z_SYNC_FLUSH


class Line:
    """One compressed connection of a bot to the gateway."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self._packer = zlib.compressobj()

    async def say(self, op: int, content: Any = None, **more: Any) -> None:
        words = json.dumps({"op": op, "d": content, "s": None, "t": None, **more}).encode()
        await self.socket.send_bytes(self._packer.compress(words) + self._packer.flush(_FLUSH))


class FakeDiscord:
    """`messages` has everything that was sent, by id; `replies` the answers to commands and buttons."""

    def __init__(self, token: str = "token") -> None:
        self.token = token
        self.messages: dict[int, dict[str, Any]] = {}
        self.replies: list[dict[str, Any]] = []
        self.commands: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str]] = []
        self.connections = 0
        self.resumed = 0
        self.typed = 0  # how often the bot showed that it writes
        self.grants_content = True  # whether the bot may ask for the content of all messages
        self.limited = 0  # how many of the next messages are answered with 429
        self.pause = 0.05  # seconds that such an answer asks for
        self.unanswered = 0  # how many of the next messages are accepted without an answer
        self.url = ""
        self._nonces: dict[tuple[int, str], int] = {}
        self._last_id = 0
        self._written: dict[int, dict[str, Any]] = {}  # what people wrote, by id
        self._line: Line | None = None
        self._events: list[tuple[str, Any]] = []
        self._is_ready = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> FakeDiscord:
        self._thread.start()
        self.url = self._do(self._open())
        return self

    def __exit__(self, *error: object) -> None:
        self._do(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def forget(self) -> None:
        """Start over, with no messages."""
        for each in (self.messages, self._nonces, self.replies):
            each.clear()

    def _id(self) -> int:
        """Return a new id: as Discord's, it grows with time."""
        self._last_id = max(self._last_id + 1, time_snowflake(datetime.now(UTC)))
        return self._last_id

    # Actions of people.

    def react(self, message: int, user: int, sign: str) -> None:
        """React to a message as a user."""
        place = int(self.messages[message]["channel_id"])
        self.messages[message]["who"].setdefault(sign, set()).add(user)
        event = {"user_id": str(user), "channel_id": str(place), "message_id": str(message)}
        self._send_event("MESSAGE_REACTION_ADD", {**event, "emoji": {"id": None, "name": sign}, "type": 0})

    def press(self, message: int, user: int, label: str) -> None:
        """Press the button with this label as a user."""
        shown = self.messages[message]
        [button] = [b for row in shown["components"] for b in row["components"] if b["label"] == label]
        self._interact(3, user, int(shown["channel_id"]), button_of(button), message=public(shown))

    def type(self, user: int, place: int, command: str, /, **options: str | int) -> None:
        """Type a command as a user."""
        [known] = [each for each in self.commands if each["name"] == command]
        types = {name: 3 if isinstance(value, str) else 4 for name, value in options.items()}
        given = [{"name": name, "type": types[name], "value": value} for name, value in options.items()]
        said = {"id": known["id"], "name": command, "type": 1, "options": given}
        self._interact(2, user, place, said)

    def write(self, user: int, place: int, text: str, *, answers: int | None = None) -> int:
        """Write a message as a user: in a channel of the server, or as a direct message; return its id."""
        number = self._id()
        said = {**written(number, place, text), "author": user_of(user)}
        if f"<@{BOT}>" in text:
            said["mentions"] = [user_of(BOT)]
        if place in PLACES:
            said |= {"guild_id": str(GUILD), "member": MEMBER}
        if answers is not None:
            said["message_reference"] = {"message_id": str(answers), "channel_id": str(place)}
            said["referenced_message"] = public(self.messages[answers])
        if not self.grants_content and f"<@{BOT}>" not in text and place in PLACES:
            said["content"] = ""
        self._written[number] = {**said, "who": {}}
        self._send_event("MESSAGE_CREATE", said)
        return number

    def hang_up(self) -> None:
        """Break the connection of the bot, as networks do; it may resume."""
        line, self._line = self._line, None
        assert line is not None
        self._do(line.socket.close(code=4000))

    def waits_for(self, fact: Callable[[], T], *, within: float = WITHIN) -> T:
        """Wait until a fact is true."""
        deadline = time.monotonic() + within
        while not (found := fact()):
            assert time.monotonic() < deadline, f"it did not happen within {within:g} s: {self.requests[-9:]}"
            time.sleep(0.005)
        return found

    @property
    def is_connected(self) -> bool:
        return self._line is not None and self._is_ready

    @property
    def contents(self) -> list[str]:
        return [str(each["content"]) for each in self.messages.values()]

    def _interact(self, kind: int, user: int, place: int, said: Mapping[str, Any], **more: Any) -> None:
        event = {
            "id": str(self._id()),
            "application_id": str(BOT),
            "type": kind,
            "data": said,
            "channel_id": str(place),
            "channel": {"id": str(place), "type": 1, "recipients": [user_of(user)]},
            "user": user_of(user),
            "token": f"interaction-{self._id()}",
            "version": 1,
            "entitlements": [],
            "attachment_size_limit": 10 << 20,
            "authorizing_integration_owners": {},
            "context": 1,
            **more,
        }
        self._send_event("INTERACTION_CREATE", event)

    def _send_event(self, name: str, event: Any) -> None:
        self._do(self._dispatch(name, event))

    def _do(self, act: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(act, self._loop).result(WITHIN)

    # The gateway.

    async def _dispatch(self, name: str, event: Any) -> None:
        self._events.append((name, event))
        if self._line is not None:
            try:
                await self._line.say(0, event, t=name, s=len(self._events))
            except ConnectionError:
                self._line = None

    async def _gateway(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        line = Line(socket)
        self.connections += 1
        await line.say(10, {"heartbeat_interval": 40_000})
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                continue
            words = json.loads(message.data)
            match words["op"]:
                case 1:
                    await line.say(11)
                case 2 if words["d"]["intents"] & CONTENT and not self.grants_content:
                    await socket.close(code=4014)
                case 2:
                    self._line = line
                    await self._dispatch("READY", self._ready(words["d"]["token"]))
                    newest = {int(each["channel_id"]): number for number, each in self._written.items()}
                    await self._dispatch("GUILD_CREATE", guild(newest))
                    self._is_ready = True
                case 6:
                    self._line = line
                    self.resumed += 1
                    for number in range(words["d"]["seq"], len(self._events)):
                        name, event = self._events[number]
                        await line.say(0, event, t=name, s=number + 1)
                    await self._dispatch("RESUMED", {})
        if self._line is line:
            self._line, self._is_ready = None, False
        return socket

    def _ready(self, token: str) -> dict[str, Any]:
        assert token == self.token
        return {
            "v": 10,
            "user": user_of(BOT),
            "guilds": [{"id": str(GUILD), "unavailable": True}],
            "session_id": "session",
            "resume_gateway_url": self.url.replace("http", "ws") + "/gateway",
            "application": {"id": str(BOT), "flags": 0},
        }

    # REST.

    async def _open(self) -> str:
        app = web.Application()
        app.router.add_get("/gateway", self._gateway)
        for method, path, answer in self._routes():
            app.router.add_route(method, f"/api/v10{path}", self._guarded(answer))
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    def _routes(self) -> list[tuple[str, str, Any]]:
        message = "/channels/{place}/messages/{message}"
        return [
            ("GET", "/users/@me", self._me),
            ("GET", "/oauth2/applications/@me", self._application),
            ("PUT", "/applications/{app}/commands", self._register),
            ("PUT", "/applications/{app}/guilds/{guild}/commands", self._register),
            ("GET", "/users/{user}", self._who),
            ("POST", "/users/@me/channels", self._private),
            ("POST", "/channels/{place}/messages", self._send),
            ("GET", "/channels/{place}/messages", self._history),
            ("POST", "/channels/{place}/typing", self._typing),
            ("GET", message, self._message),
            ("PATCH", message, self._edit),
            ("PUT", f"{message}/reactions/{{sign}}/@me", self._own_reaction),
            ("GET", f"{message}/reactions/{{sign}}", self._reactions),
            ("POST", "/interactions/{id}/{token}/callback", self._reply),
        ]

    def _guarded(self, answer: Callable[[web.Request], Coroutine[Any, Any, T]]) -> Any:
        async def guarded(request: web.Request) -> T | web.Response:
            self.requests.append((request.method, request.path))
            is_known = request.headers.get("Authorization") == f"Bot {self.token}"
            if not is_known and "/interactions/" not in request.path:
                return _json({"message": "401: Unauthorized", "code": 0}, 401)
            return await answer(request)

        return guarded

    async def _me(self, request: web.Request) -> web.Response:
        return _json(user_of(BOT))

    async def _application(self, request: web.Request) -> web.Response:
        names = {"name": "errands", "description": "", "icon": None, "verify_key": "", "summary": ""}
        flags = {"bot_public": True, "bot_require_code_grant": False, "team": None, "flags": 0}
        return _json({"id": str(BOT), "owner": user_of(1), **names, **flags})

    async def _register(self, request: web.Request) -> web.Response:
        version = {"application_id": str(BOT), "version": "1", "default_member_permissions": None}
        self.commands = [{"id": str(self._id()), **version, **each} for each in await request.json()]
        return _json(self.commands)

    async def _who(self, request: web.Request) -> web.Response:
        return _json(user_of(int(request.match_info["user"])))

    async def _private(self, request: web.Request) -> web.Response:
        user = int((await request.json())["recipient_id"])
        return _json({"id": str(500_000 + user), "type": 1, "recipients": [user_of(user)]})

    async def _send(self, request: web.Request) -> web.StreamResponse:
        if self.limited:
            self.limited -= 1
            limit = {"message": "You are being rate limited.", "retry_after": self.pause, "global": False}
            return _json(limit, 429)
        place, said = int(request.match_info["place"]), await request.json()
        if place == 404:
            return _json({"message": "Unknown Channel", "code": 10003}, 404)
        if not 0 < len(said["content"]) <= 2000:
            return _json({"message": "Invalid Form Body", "code": 50035}, 400)
        nonce = (place, str(said.get("nonce")))
        if said.get("enforce_nonce") and nonce in self._nonces:
            return _json(public(self.messages[self._nonces[nonce]]))
        number = self._id()
        self._nonces[nonce] = number
        self.messages[number] = {
            **written(number, place, said["content"]),
            **{key: said[key] for key in ("message_reference",) if key in said},
            "components": said.get("components") or [],
            "who": {},
            "allowed_mentions": said.get("allowed_mentions"),
        }
        if self.unanswered:
            self.unanswered -= 1
            assert request.transport is not None
            request.transport.abort()
        return _json(public(self.messages[number]))

    async def _typing(self, request: web.Request) -> web.Response:
        self.typed += 1
        return web.Response(status=204)

    async def _history(self, request: web.Request) -> web.Response:
        place = request.match_info["place"]
        shown = {**self.messages, **self._written}
        before, after = (int(request.query.get(each, 0)) for each in ("before", "after"))
        found = [
            public(shown[number])
            for number in sorted(shown, reverse=not after)
            if shown[number]["channel_id"] == place and after < number and (not before or number < before)
        ]
        # The newest come first in every answer, also if the oldest ones after a message were asked for.
        limited = found[: int(request.query.get("limit", 50))]
        return _json(sorted(limited, key=lambda each: int(each["id"]), reverse=True))

    async def _message(self, request: web.Request) -> web.Response:
        return _json(public(self.messages[int(request.match_info["message"])]))

    async def _edit(self, request: web.Request) -> web.Response:
        return _json(self._changed(int(request.match_info["message"]), await request.json()))

    def _changed(self, number: int, changes: Mapping[str, Any]) -> dict[str, Any]:
        message = self.messages[number]
        message |= {key: value for key, value in changes.items() if key in ("content", "components")}
        message["components"] = message["components"] or []
        return public(message)

    async def _own_reaction(self, request: web.Request) -> web.Response:
        who = self.messages[int(request.match_info["message"])]["who"]
        who.setdefault(request.match_info["sign"], set()).add(BOT)
        return web.Response(status=204)

    async def _reactions(self, request: web.Request) -> web.Response:
        who = self.messages[int(request.match_info["message"])]["who"]
        after = int(request.query.get("after", 0))
        users = sorted(each for each in who.get(request.match_info["sign"], ()) if each > after)
        return _json([user_of(each) for each in users])

    async def _reply(self, request: web.Request) -> web.Response:
        said = await request.json()
        self.replies.append(said)
        if said["type"] == 7:
            [(_, event)] = [
                (name, each)
                for name, each in self._events
                if name == "INTERACTION_CREATE" and each["token"] == request.match_info["token"]
            ]
            self._changed(int(event["message"]["id"]), said["data"])
        number = request.match_info["id"]
        return _json({"interaction": {"id": number, "type": 2}})


def _json(value: Any, code: int = 200) -> web.Response:
    # Exactly this: the library does not recognise `application/json; charset=utf-8`.
    headers = {"Content-Type": "application/json", "Via": "1.1 fake"}
    return web.Response(body=json.dumps(value).encode(), status=code, headers=headers)
