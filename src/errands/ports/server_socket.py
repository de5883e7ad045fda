"""Where a server listens (on this machine, or on the one address that clients use), and its secrets."""

from __future__ import annotations

import os
import socket

from errands.model.errors import BadValue, ErrandsError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_WILDCARDS = ("", "0.0.0.0", "::", "*")


def address(text: str, default: tuple[str, int]) -> tuple[str, int]:
    """Parse `HOST:PORT`, `HOST` or `PORT`; port 0 means any free port."""
    if not text:
        return default
    if text.isdecimal():
        host, port = default[0], text
    elif text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") > 1:
        host, port = text, ""
    else:
        host, _, port = text.partition(":")
    if port and not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise BadValue(f"{text!r} is not an address; write HOST:PORT, such as {default[0]}:{default[1]}")
    if host in _WILDCARDS:
        raise BadValue(f"cannot listen on {host!r}; name the one address that clients use, such as 127.0.0.1")
    return host, int(port) if port else default[1]


def host_names(host: str, port: int, *, default_port: int = 80) -> list[str]:
    """Return what a request may call this server; any other name belongs to a page that pretends to be it."""
    names = LOOPBACK if host in LOOPBACK else (host,)
    shown = [f"[{each}]" if ":" in each else each for each in names]
    return [f"{each}:{port}" for each in shown] + (shown if port == default_port else [])


def listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on a socket whose protocol is given.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ErrandsError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return listener


def secret(directory: str, name: str) -> str:
    """Read a secret, or create it."""
    path = os.path.join(directory, name)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    while True:
        try:
            with open(path, encoding="ascii") as file:
                text = file.read().strip()
            if len(text) < 32:
                raise ErrandsError(f"{path} holds no valid secret; remove it, and a new one is created")
            return text
        except FileNotFoundError:
            _create_secret(path)


def _create_secret(path: str) -> None:
    import secrets

    draft = f"{path}.{secrets.token_hex(4)}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(32))
    try:
        os.link(draft, path)  # of two processes, one wins
    except FileExistsError:
        pass
    finally:
        os.unlink(draft)
