"""The files of the page, read once: each is named in the page with a digest of its content.

So a browser may keep a file for ever, and a new version of Errands is never mixed with an old one.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache

from starlette.responses import Response

from errands.frontends.web.guard import RefusalError

FOLDER = os.path.join(os.path.dirname(__file__), "page")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
}
_FOR_EVER = "public, max-age=31536000, immutable"
PREFIX = "/page/"


@cache
def files() -> dict[str, bytes]:
    """Return the files by their path below the page's folder; nothing else can ever be asked for."""
    found: dict[str, bytes] = {}
    for folder, _, names in os.walk(FOLDER):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.splitext(name)[1] in _TYPES:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, FOLDER)] = file.read()
    return found


@cache
def version() -> str:
    """Return a digest of all files: a module names others by relative paths, so they change together."""
    whole = hashlib.sha256()
    for path, content in sorted(files().items()):
        whole.update(f"{path}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()[:16]


@cache
def shell() -> bytes:
    """Return the page itself, whose links to its files carry their version."""
    text = files().get("index.html", b"").decode()
    return text.replace(PREFIX, f"{PREFIX}{version()}/").encode()


def page_file(path: str) -> Response:
    """Return a file of the page; any other path is an address of the page, which reads it itself."""
    if path.startswith(PREFIX):
        wanted, _, name = path.removeprefix(PREFIX).partition("/")
        content = files().get(name)
        if content is None or wanted != version() or name == "index.html":
            raise RefusalError(404, "there is no such file; reload the page", "NotFound")
        kind = _TYPES[os.path.splitext(name)[1]]
        return Response(content, headers={"content-type": kind, "cache-control": _FOR_EVER})
    if path == "/favicon.ico" and "favicon.ico" in files():
        return Response(files()["favicon.ico"], headers={"content-type": _TYPES[".ico"]})
    if os.path.splitext(path)[1] in _TYPES:
        raise RefusalError(404, "there is no such file", "NotFound")
    if not shell():
        raise RefusalError(404, "this installation has no page; use the API: see /openapi.json", "NotFound")
    return Response(shell(), headers={"content-type": _TYPES[".html"]})
