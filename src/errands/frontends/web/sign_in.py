"""Signing in: one-time codes, the keys of signed-in browsers, and the token of programs.

Only digests are stored, in files that are named by them. A code is a file that its first use removes, so of
two requests with it one wins, and it works once, in whichever process it was made. A key is not a cookie:
browsers would send a cookie to every other server on this machine.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from errands.engine.actor import enclosing_run
from errands.model.errors import NotAPerson, NotFound
from errands.ports.home import Home, make_home
from errands.ports.own_file import open_file
from errands.ports.server_socket import secret

CODE_LIVES = 300.0  # seconds
IDLE = 30 * 86400.0  # seconds after which a browser that was not used has to sign in again
_SEEN_EVERY = 60.0  # seconds between two notes that a browser was used
_MOST_SESSIONS = 100
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSession:
    """A signed-in browser; `id` names it, and is not its key."""

    id: str
    browser: str
    address: str
    created_at: datetime
    seen_at: datetime


class Signing:
    def __init__(self, home: Home) -> None:
        self._home = home.path
        self._folder = home.web
        self._codes = f"{home.web}/codes"
        self._sessions = f"{home.web}/sessions"

    # Codes.

    def mint(self) -> str:
        """Make a code that signs one browser in within five minutes; never for a process inside a run."""
        if run := enclosing_run():
            raise NotAPerson(
                f"a process inside run {run} cannot sign in; a person can, in a terminal outside"
            )
        self.make_folders()
        self._sweep()
        code = secrets.token_urlsafe(32)
        os.close(_create(f"{self._codes}/{_digest(code)}"))
        return code

    def page_for(self, code: str, link: str) -> str:
        """Write a page for this user alone that leads to a link, and return its path.

        A browser gets its address as an argument, which every user of the machine can read.
        """
        path = f"{self._codes}/{_digest(code)}.html"
        words = link.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        with open(_create(path), "w", encoding="utf-8") as file:
            file.write(
                "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>"
                f'<title>Errands</title><p><a href="{words}">Sign in to Errands</a>'
                f"<script>location.replace({json.dumps(link).replace('<', '%3C')})</script>\n"
            )
        return path

    def use(self, code: str) -> bool:
        """Use up a code; return whether it was good."""
        path = f"{self._codes}/{_digest(code)}"
        try:
            made = os.stat(path, follow_symlinks=False).st_mtime
            os.unlink(path)  # of two at once, one gets an error
        except OSError:
            return False
        _remove(f"{path}.html")
        return -60 <= time.time() - made <= CODE_LIVES

    def _sweep(self) -> None:
        """Remove expired codes and pages."""
        for name in os.listdir(self._codes):
            path = f"{self._codes}/{name}"
            try:
                if time.time() - os.stat(path, follow_symlinks=False).st_mtime > CODE_LIVES:
                    os.unlink(path)
            except OSError:
                continue

    # Sessions.

    def begin(self, *, browser: str, address: str) -> tuple[str, WebSession]:
        """Sign a browser in; return its key, which is not stored, and the session."""
        self.make_folders()
        key, now = secrets.token_urlsafe(32), datetime.now(UTC)
        session = WebSession(
            id=secrets.token_hex(6),
            browser=browser[:_LONGEST_NAME],
            address=address,
            created_at=now,
            seen_at=now,
        )
        for _, old in self._all()[_MOST_SESSIONS - 1 :]:
            self.end(old.id)
        with open(_create(f"{self._sessions}/{_digest(key)}"), "w", encoding="utf-8") as file:
            json.dump(
                {
                    "id": session.id,
                    "browser": session.browser,
                    "address": session.address,
                    "created_at": now.isoformat(),
                },
                file,
            )
        return key, session

    def session(self, key: str) -> WebSession | None:
        """Return the session of a key, and note that it was used; None if it has ended."""
        path = f"{self._sessions}/{_digest(key)}"
        found = _read(path)
        if found is None:
            return None
        age = time.time() - found.seen_at.timestamp()
        if age > IDLE:
            _remove(path)
            return None
        if age > _SEEN_EVERY:
            try:
                os.utime(
                    path, follow_symlinks=False
                )  # unlike a new file, it does not bring back one that was ended
            except OSError:
                return None
        return found

    def sessions(self) -> list[WebSession]:
        """List the signed-in browsers, the most recently used first."""
        return [each for _, each in self._all()]

    def end(self, session_id: str) -> WebSession:
        """Sign a browser out: its key stops working."""
        for path, session in self._all():
            if hmac.compare_digest(session.id, session_id):
                _remove(path)
                return session
        raise NotFound(
            f"no signed-in browser is called {session_id[:80]!r}; `errands web --sessions` lists them"
        )

    def end_all(self) -> int:
        """Sign every browser out; return how many there were."""
        found = self._all()
        for path, _ in found:
            _remove(path)
        return len(found)

    def _all(self) -> list[tuple[str, WebSession]]:
        return sorted(self._found(), key=lambda each: each[1].seen_at, reverse=True)

    def _found(self) -> Iterator[tuple[str, WebSession]]:
        try:
            names = os.listdir(self._sessions)
        except OSError:
            return
        for name in names:
            path = f"{self._sessions}/{name}"
            session = _read(path)
            if session is None:
                continue
            if time.time() - session.seen_at.timestamp() > IDLE:
                _remove(path)
            else:
                yield path, session

    # The token of programs.

    def token(self) -> str:
        """Return the token for programs, which is made when it is first asked for."""
        self.make_folders()
        return secret(self._folder, "token")

    def is_token(self, key: str) -> bool:
        token = self._token()
        return token is not None and hmac.compare_digest(_digest(token), _digest(key))

    def _token(self) -> str | None:
        try:
            with open(open_file(f"{self._folder}/token"), encoding="ascii") as file:
                text = file.read().strip()
        except (OSError, ValueError):
            return None
        return text if len(text) >= 32 else None

    def make_folders(self) -> None:
        make_home(self._home)
        for each in (self._folder, self._codes, self._sessions):
            os.makedirs(each, mode=0o700, exist_ok=True)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _create(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags, 0o600)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _read(path: str) -> WebSession | None:
    try:
        with open(open_file(path), encoding="utf-8") as file:
            facts = json.load(file)
            seen = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
        return WebSession(
            id=str(facts["id"]),
            browser=str(facts["browser"]),
            address=str(facts["address"]),
            created_at=datetime.fromisoformat(facts["created_at"]),
            seen_at=seen,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # ended meanwhile, or not ours
