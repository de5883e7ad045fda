"""`errands web`: start the server, or find the one that runs, and sign a browser in."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from errands.config.sections import Web
from errands.frontends.tools.http_server import MOST, App, authority, connection_class
from errands.frontends.web.app import WebApp
from errands.frontends.web.call import Services
from errands.frontends.web.guard import checked_origin
from errands.frontends.web.link import print_link
from errands.frontends.web.sign_in import Signing
from errands.model.errors import BadValue, ErrandsError
from errands.ports.home import Home, is_locked, lock_file
from errands.ports.own_file import open_file
from errands.ports.server_socket import LOOPBACK, address, host_names, listening

DEFAULT = ("127.0.0.1", 7979)
# Makes the MCP endpoint of a server with these origins, and returns the largest message it takes, too.
MakeMcp = Callable[[list[str]], tuple[App, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the server listens, and what its users call it: `origin` is that of a proxy in front."""

    host: str
    port: int
    origin: str = ""
    cert: str = ""
    key: str = ""

    @property
    def scheme(self) -> str:
        return "https" if self.cert else "http"

    def url(self, port: int) -> str:
        return self.origin or f"{self.scheme}://{authority(self.host, port)}"

    def names(self, port: int) -> tuple[list[str], list[str]]:
        """Return what the Host header and the Origin header of a request may be."""
        hosts = host_names(self.host, port, default_port=443 if self.cert else 80)
        origins = [f"{self.scheme}://{each}" for each in hosts]
        if self.origin:
            hosts.append(urlsplit(self.origin).netloc)
            origins.append(self.origin)
        return hosts, origins


def place_of(text: str | None, settings: Web) -> Place:
    """Return where to listen; an address that other machines can reach needs TLS."""
    host, port = address(settings.address if text is None else text, DEFAULT)
    if bool(settings.cert) != bool(settings.cert_key):
        raise BadValue("web.cert and web.cert_key belong together; set both, or neither")
    origin = checked_origin(settings.origin) if settings.origin else ""
    if host not in LOOPBACK and not host.startswith("127.") and not settings.cert:
        raise BadValue(
            f"{host} can be reached from other machines, and nothing would be encrypted; set "
            "web.cert and web.cert_key, or listen on 127.0.0.1 behind a proxy with web.origin = 'https://...'"
        )
    cert, key = (os.path.expanduser(each) for each in (settings.cert, settings.cert_key))
    for path in filter(None, (cert, key)):
        if not os.access(path, os.R_OK):
            raise BadValue(f"web.cert or web.cert_key cannot be read: {path}")
    return Place(host=host, port=port, origin=origin, cert=cert, key=key)


def running_url(home: Home) -> str | None:
    """Return the address of the server that runs in a home; None if none does."""
    path = _lock(home)
    if not is_locked(path):
        return None
    try:
        with open(open_file(path), encoding="utf-8") as file:
            return str(json.load(file)["url"])
    except (OSError, ValueError, KeyError):
        return None  # it is about to start


def serve(
    home: Home,
    place: Place,
    services: Services,
    *,
    make_mcp: MakeMcp | None,
    is_opened: bool,
    signs_in: bool = True,
) -> int:
    """Serve until this process is stopped; print the address, and sign a browser in."""
    gc.enable()  # a long-lived process needs it, and the command line turns it off
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="errands web: %(message)s")
    signing = Signing(home)
    signing.make_folders()
    code = signing.mint() if signs_in else ""  # refused inside a run, before anything is served
    lock = lock_file(_lock(home))
    if lock is None:
        raise ErrandsError("another `errands web` of this home is running or about to start; try again")
    os.ftruncate(lock, 0)
    try:
        listener = listening(place.host, place.port)
        port = listener.getsockname()[1]
        url = place.url(port)
        os.pwrite(lock, json.dumps({"pid": os.getpid(), "url": url}).encode(), 0)
        hosts, origins = place.names(port)
        engine = services.open_engine()
        web = WebApp(
            engine=engine,
            services=services,
            signing=signing,
            url=url,
            hosts=hosts,
            origins=origins,
            origin=place.origin,
            mounted={} if make_mcp is None else {"/mcp": make_mcp(origins)},
        )
        if code:
            print_link(signing, url, code, is_opened=is_opened)
            if sys.stdout.isatty():
                sys.stdout.write("serving until Ctrl-C\n")
                sys.stdout.flush()
        else:
            sys.stdout.write(f"{url}\n")
            sys.stdout.flush()
        asyncio.run(_serve(web.app, place, listener))
        return 0
    finally:
        os.ftruncate(lock, 0)
        os.close(lock)


async def _serve(app: App, place: Place, listener: object) -> None:
    import uvicorn

    config = uvicorn.Config(
        app,
        http=connection_class(),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST,
        timeout_graceful_shutdown=1,
        ssl_certfile=place.cert or None,
        ssl_keyfile=place.key or None,
    )
    await uvicorn.Server(config).serve(sockets=[listener])  # type: ignore[list-item]


def _lock(home: Home) -> str:
    return f"{home.web}/server"
