"""Callers: who sends a request, and whether they can answer a question.

A caller is a person at a signed-in browser, or a program with the token. A person can approve, unless the
process at the other end of the connection is part of a run: no run may approve itself, whatever it read.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Literal

from errands.engine.actor import actor, is_inside_a_run
from errands.frontends.tools.http_server import Scope
from errands.frontends.web.guard import FailedKeys, RefusalError
from errands.frontends.web.sign_in import Signing, WebSession

_UNKNOWN = "this browser is not signed in: type `errands web` in a terminal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """`peer` is the address of the other end of the connection, `through` the proxy's origin, if any."""

    kind: Literal["person", "program"]
    session: WebSession | None
    key: str
    peer: tuple[str, int]
    through: str

    @property
    def name(self) -> str:
        """How records name the caller: the account of this server, and the browser."""
        if self.session is None:
            return f"{actor()} (web token)"
        where = f" through {self.through}" if self.through else ""
        return f"{actor()} ({self.session.browser}{where})"

    @property
    def door(self) -> str:
        """The frontend as the engine knows it; a program is unattended, like one that uses Python."""
        return "web" if self.kind == "person" else "python"

    def why_not_a_person(self) -> str:
        """Return why an answer of this caller would not count; empty if it would. It looks at processes."""
        if self.kind != "person":
            return "only a person at a signed-in browser can do this, not a program with the token"
        if is_local(self.peer[0]) and is_inside_a_run(*self.peer, is_proxy=bool(self.through)):
            return "the process that sent this is part of a run, or cannot be found, so it is not a person"
        return ""


def is_local(host: str) -> bool:
    """Return whether an address is one of this machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return True  # not an address: nothing can be ruled out
    if address.is_loopback:
        return True
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True


class Callers:
    def __init__(self, signing: Signing, origin: str) -> None:
        self._signing = signing
        self._host = origin.partition("//")[2].encode()
        self._origin = origin
        self.failures = FailedKeys()

    def identify(self, scope: Scope) -> Caller:
        """Return who sends a request; refuse one without a key, or with a wrong one."""
        headers = dict(scope["headers"])
        scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise RefusalError(401, _UNKNOWN, "NotSignedIn", www_authenticate="Bearer")
        key = key.strip()
        session = self._signing.session(key)
        if session is None and not self._signing.is_token(key):
            self.failures.note()
            raise RefusalError(401, _UNKNOWN, "NotSignedIn", www_authenticate="Bearer")
        return self._caller("program" if session is None else "person", session, key, scope)

    def anonymous(self, scope: Scope) -> Caller:
        return self._caller("person", None, "", scope)

    def is_signed_in(self, caller: Caller) -> bool:
        """Return whether the key of a caller still counts."""
        key = caller.key
        return self._signing.session(key) is not None or self._signing.is_token(key)

    def _caller(
        self, kind: Literal["person", "program"], session: WebSession | None, key: str, scope: Scope
    ) -> Caller:
        is_proxied = bool(self._host) and dict(scope["headers"]).get(b"host", b"").lower() == self._host
        peer = scope.get("client") or ("", 0)
        return Caller(
            kind=kind,
            session=session,
            key=key,
            peer=(str(peer[0]), int(peer[1])),
            through=self._origin if is_proxied else "",
        )


def browser_of(agent: str) -> str:
    """Name a browser in a few words, by what it says about itself."""
    names = (("Firefox/", "Firefox"), ("Edg/", "Edge"), ("OPR/", "Opera"), ("Chrome/", "Chrome"))
    browser = next((name for mark, name in names if mark in agent), "Safari" if "Safari/" in agent else "")
    systems = (
        *(("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Mac OS", "macOS")),
        *(("Windows", "Windows"), ("Linux", "Linux")),
    )
    system = next((name for mark, name in systems if mark in agent), "")
    if not browser:
        plain = "".join(each for each in agent if each.isprintable() and each.isascii())
        return plain[:40] or "an unknown browser"
    return f"{browser} on {system}" if system else browser
