"""A fake Discord for tests: REST and gateway on loopback, as much of them as a bot needs.

It serves from a thread, so that real processes can connect. The test plays the people, who react, press
buttons and type commands, and decides what breaks.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
import zlib
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from aiohttp import WSMsgType, web

T = TypeVar("T")
BOT, GUILD = 1000, 2000
WITHIN = 20.0
_STAMP = "2026-01-01T00:00:00.000000+00:00"
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
        self.limited = 0  # how many of the next messages are answered with 429
        self.pause = 0.05  # seconds that such an answer asks for
        self.unanswered = 0  # how many of the next messages are accepted without an answer
        self.url = ""
        self._nonces: dict[tuple[int, str], int] = {}
        self._ids = itertools.count(10_000)
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
        self._interact(3, user, int(shown["channel_id"]), button_of(button), message=_public(shown))

    def type(self, user: int, place: int, command: str, /, **options: str) -> None:
        """Type a command as a user."""
        [known] = [each for each in self.commands if each["name"] == command]
        given = [{"name": name, "type": 3, "value": value} for name, value in options.items()]
        said = {"id": known["id"], "name": command, "type": 1, "options": given}
        self._interact(2, user, place, said)

    def hang_up(self) -> None:
        """Break the connection of the bot, as networks do; it may resume."""
        line, self._line = self._line, None
        assert line is not None
        self._do(line.socket.close(code=4000))

    def waits_for(self, fact: Callable[[], T]) -> T:
        """Wait until a fact is true."""
        deadline = time.monotonic() + WITHIN
        while not (found := fact()):
            assert time.monotonic() < deadline, f"it did not happen within {WITHIN:g} s: {self.requests[-9:]}"
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
            "id": str(next(self._ids)),
            "application_id": str(BOT),
            "type": kind,
            "data": said,
            "channel_id": str(place),
            "channel": {"id": str(place), "type": 1, "recipients": [_user(user)]},
            "user": _user(user),
            "token": f"interaction-{next(self._ids)}",
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
                case 2:
                    self._line = line
                    await self._dispatch("READY", self._ready(words["d"]["token"]))
                    self._is_ready = True
                case 6:
                    self._line = line
                    self.resumed += 1
                    for number in range(words["d"]["seq"], len(self._events)):
                        name, event = self._events[number]
                        await line.say(0, event, t=name, s=number + 1)
                    await self._dispatch("RESUMED", {})
        return socket

    def _ready(self, token: str) -> dict[str, Any]:
        assert token == self.token
        return {
            "v": 10,
            "user": _user(BOT),
            "guilds": [],
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
        return _json(_user(BOT))

    async def _application(self, request: web.Request) -> web.Response:
        names = {"name": "errands", "description": "", "icon": None, "verify_key": "", "summary": ""}
        flags = {"bot_public": True, "bot_require_code_grant": False, "team": None, "flags": 0}
        return _json({"id": str(BOT), "owner": _user(1), **names, **flags})

    async def _register(self, request: web.Request) -> web.Response:
        version = {"application_id": str(BOT), "version": "1", "default_member_permissions": None}
        self.commands = [{"id": str(next(self._ids)), **version, **each} for each in await request.json()]
        return _json(self.commands)

    async def _who(self, request: web.Request) -> web.Response:
        return _json(_user(int(request.match_info["user"])))

    async def _private(self, request: web.Request) -> web.Response:
        user = int((await request.json())["recipient_id"])
        return _json({"id": str(500_000 + user), "type": 1, "recipients": [_user(user)]})

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
            return _json(_public(self.messages[self._nonces[nonce]]))
        number = next(self._ids)
        self._nonces[nonce] = number
        self.messages[number] = {
            "id": str(number), "channel_id": str(place), "author": _user(BOT), "content": said["content"],
            "timestamp": _STAMP, "edited_timestamp": None, "tts": False, "mention_everyone": False,
            "mentions": [], "mention_roles": [], "attachments": [], "embeds": [], "pinned": False, "type": 0,
            "components": said.get("components") or [], "flags": 0, "who": {},
            "allowed_mentions": said.get("allowed_mentions"),
        }  # fmt: skip
        if self.unanswered:
            self.unanswered -= 1
            assert request.transport is not None
            request.transport.abort()
        return _json(_public(self.messages[number]))

    async def _history(self, request: web.Request) -> web.Response:
        place = request.match_info["place"]
        found = [_public(each) for each in self.messages.values() if each["channel_id"] == place]
        before = int(request.query.get("before", 1 << 60))
        newest = [each for each in reversed(found) if int(each["id"]) < before]
        return _json(newest[: int(request.query.get("limit", 50))])

    async def _message(self, request: web.Request) -> web.Response:
        return _json(_public(self.messages[int(request.match_info["message"])]))

    async def _edit(self, request: web.Request) -> web.Response:
        return _json(self._changed(int(request.match_info["message"]), await request.json()))

    def _changed(self, number: int, changes: Mapping[str, Any]) -> dict[str, Any]:
        message = self.messages[number]
        message |= {key: value for key, value in changes.items() if key in ("content", "components")}
        message["components"] = message["components"] or []
        return _public(message)

    async def _own_reaction(self, request: web.Request) -> web.Response:
        who = self.messages[int(request.match_info["message"])]["who"]
        who.setdefault(request.match_info["sign"], set()).add(BOT)
        return web.Response(status=204)

    async def _reactions(self, request: web.Request) -> web.Response:
        who = self.messages[int(request.match_info["message"])]["who"]
        after = int(request.query.get("after", 0))
        users = sorted(each for each in who.get(request.match_info["sign"], ()) if each > after)
        return _json([_user(each) for each in users])

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


def button_of(button: Mapping[str, Any]) -> dict[str, Any]:
    return {"custom_id": button["custom_id"], "component_type": 2}


def _user(number: int) -> dict[str, Any]:
    names = {"username": "errands-bot" if number == BOT else f"user{number}", "global_name": None}
    return {"id": str(number), **names, "discriminator": "0", "avatar": None, "bot": number == BOT}


def _public(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as the bot sees it, with reactions as counts."""
    seen = {key: value for key, value in message.items() if key not in ("who", "allowed_mentions")}
    seen["reactions"] = [
        {
            "emoji": {"id": None, "name": sign},
            "count": len(users),
            "me": BOT in users,
            "me_burst": False,
            "count_details": {"burst": 0, "normal": len(users)},
            "burst_colors": [],
        }
        for sign, users in message["who"].items()
    ]
    return seen
