"""The files of the page, read, joined and compressed once: each is named with a digest of them all.

So a browser may keep a file forever, and a new version of Errands is never mixed with an old one.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from functools import cache

from starlette.responses import Response

from errands.frontends.web import bundle
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
    """Return the files by their path; nothing else can ever be asked for. Modules and styles are joined."""
    found: dict[str, bytes] = {}
    for folder, _, names in os.walk(FOLDER):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.splitext(name)[1] in _TYPES:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, FOLDER)] = file.read()
    parts = {path: found.pop(path).decode() for path in list(found) if path.endswith((".js", ".css"))}
    if parts:
        found[bundle.SCRIPT] = bundle.script(parts).encode()
        found[bundle.STYLES] = bundle.styles(parts).encode()
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


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(shell() if name == "index.html" else files()[name], mtime=0)


def _sent(name: str, accepted: str, **headers: str) -> Response:
    """Return the answer with a file, compressed for a browser that takes it so."""
    content = shell() if name == "index.html" else files()[name]
    headers = {"content-type": _TYPES[os.path.splitext(name)[1]], "vary": "accept-encoding", **headers}
    if "gzip" in accepted:
        return Response(_compressed(name), headers={**headers, "content-encoding": "gzip"})
    return Response(content, headers=headers)


def page_file(path: str, accepted: str) -> Response:
    """Return a file of the page; any other path is an address of the page, which reads it itself.

    `accepted` are the encodings that the browser takes.
    """
    if path.startswith(PREFIX):
        wanted, _, name = path.removeprefix(PREFIX).partition("/")
        if name not in files() or wanted != version() or name == "index.html":
            raise RefusalError(404, "no such file; reload the page", "NotFound")
        return _sent(name, accepted, **{"cache-control": _FOR_EVER})
    if os.path.splitext(path)[1] in _TYPES:
        raise RefusalError(404, "no such file", "NotFound")
    if not shell():
        raise RefusalError(404, "this installation has no page; use the API: see /openapi.json", "NotFound")
    return _sent("index.html", accepted)
