"""The guard: the checks that every request passes first, and the headers of every answer.

Another page in the same browser, another host name that leads here, and another server on this machine are
kept out by what browsers say about a request; scripts of others by the policy that the page is sent with.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from http import HTTPStatus
from urllib.parse import urlsplit

from errands.frontends.tools.http_server import App, Message, Receive, Scope, Send
from errands.model.errors import BadValue

BODY_WITHIN = 10.0  # seconds
MOST_FAILURES = 20  # wrong keys a minute
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_LOG = logging.getLogger("errands.web")


class RefusalError(Exception):
    """A request that is answered with a status other than success, and a sentence."""

    def __init__(self, status: int, detail: str, kind: str = "Refused", **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.kind = kind
        self.headers = headers


def problem(status: int, detail: str, kind: str) -> bytes:
    """Return the body of an answer that refuses something."""
    title = HTTPStatus(status).phrase
    facts = {"type": "about:blank", "title": title, "status": status, "detail": detail, "kind": kind}
    return json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace")


class Guard:
    """`hosts` and `origins` are what requests may call this server, `largest` limits a body, by path."""

    def __init__(self, app: App, *, hosts: list[str], origins: list[str], largest: dict[str, int]) -> None:
        self._app = app
        self._hosts = {each.lower().encode() for each in hosts}
        self._origins = {each.lower().encode() for each in origins}
        self._largest = largest
        self._is_secure = any(each.startswith("https:") for each in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        guarded = _Answer(send, self._is_secure)
        try:
            self._check(scope)
            body = await self._body(scope, receive)
            await self._app(scope, _replay(body, receive), guarded.send)
        except RefusalError as refusal:
            await guarded.refuse(refusal)
        except asyncio.CancelledError:  # the server stops, and this took too long
            if not guarded.is_begun:
                await guarded.refuse(RefusalError(503, "the server is stopping", connection="close"))
        except Exception:  # the edge: one request must not end the server, nor show its inside
            _LOG.exception("a request failed: %s", scope["method"])
            if guarded.is_begun:
                raise
            detail = "the server failed; `errands doctor` may say why, and its log has the details"
            await guarded.refuse(RefusalError(500, detail, "InternalError"))
        return None

    def _check(self, scope: Scope) -> None:
        headers = _headers(scope)
        if headers.get(b"host", b"").lower() not in self._hosts:
            raise RefusalError(421, "this server has another host name; use the address that it printed")
        origin = headers.get(b"origin")
        if origin is not None and origin.lower() not in self._origins:
            raise RefusalError(403, "a page of another origin cannot use this server")
        site = headers.get(b"sec-fetch-site", b"none").lower()
        is_visit = (
            scope["method"] in ("GET", "HEAD")
            and headers.get(b"sec-fetch-mode", b"navigate") == b"navigate"
            and headers.get(b"sec-fetch-dest", b"document") == b"document"
            and not scope["path"].startswith("/api/")
        )
        # Any site may link to the page, but request nothing else.
        if site not in (b"same-origin", b"none") and not is_visit:
            raise RefusalError(403, "a page of another site cannot use this server")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Read the whole body, within a limit of size and time."""
        largest = next(size for path, size in self._largest.items() if scope["path"].startswith(path))
        given = _headers(scope).get(b"content-length", b"0")
        too_large = f"the body must have at most {largest:,} bytes"
        if not given.isdigit() or int(given[:20]) > largest:
            raise RefusalError(413, f"{too_large} (got {given[:20].decode('latin-1')})", connection="close")
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(BODY_WITHIN):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RefusalError(400, "the client disconnected before its request was complete")
                    pieces.append(message.get("body", b""))
                    size += len(pieces[-1])
                    if size > largest:
                        raise RefusalError(413, too_large, connection="close")
                    if not message.get("more_body"):
                        return b"".join(pieces)
        except TimeoutError:
            raise RefusalError(
                408, f"the body did not come within {BODY_WITHIN:g} seconds", connection="close"
            ) from None


class _Answer:
    """Adds the headers of every answer."""

    def __init__(self, send: Send, is_secure: bool) -> None:
        self._send = send
        self._is_secure = is_secure
        self.is_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            given = {name.lower() for name, _ in message["headers"]}
            extra = {**HEADERS, "cache-control": "no-store"}
            if self._is_secure:
                extra["strict-transport-security"] = "max-age=31536000"
            more = [(name.encode(), value.encode()) for name, value in extra.items()]
            message = {
                **message,
                "headers": [*message["headers"], *((n, v) for n, v in more if n not in given)],
            }
        await self._send(message)

    async def refuse(self, refusal: RefusalError) -> None:
        body = problem(refusal.status, refusal.detail, refusal.kind)
        headers = {
            "content-type": "application/problem+json",
            "content-length": str(len(body)),
            **refusal.headers,
        }
        encoded = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
        await self.send({"type": "http.response.body", "body": body})


class FailedKeys:
    """Counts wrong keys: beyond a limit per minute they are not even checked. Right ones always work."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def check(self) -> None:
        """Refuse a request that might try another key, if there were too many wrong ones."""
        now = asyncio.get_running_loop().time()
        while self._times and self._times[0] < now - 60:
            self._times.popleft()
        if len(self._times) >= MOST_FAILURES:
            raise RefusalError(429, "too many wrong keys or codes; try again in a minute", retry_after="60")

    def note(self) -> None:
        """Note a wrong key; refuse the request if there were too many."""
        self.check()
        self._times.append(asyncio.get_running_loop().time())


def checked_origin(text: str) -> str:
    """Return the origin that a proxy serves, such as `https://errands.example`."""
    parts = urlsplit(text)
    is_plain = not (parts.path.strip("/") or parts.query or parts.fragment or parts.username)
    if parts.scheme != "https" or not parts.hostname or not is_plain:
        raise BadValue(f"web.origin must be like https://errands.example (got {text!r})")
    return f"https://{parts.netloc.lower()}"


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers; one that is given twice may be a trick, so it counts as wrong."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        found[name] = b"\0twice" if name in found and name in _ONCE else value
    return found


_ONCE = (b"host", b"origin", b"sec-fetch-site", b"authorization", b"content-type", b"content-length")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` for a body that was already read."""
    is_given = False

    async def replayed() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed
