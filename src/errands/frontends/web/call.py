"""A call: one request on its way to a handler, with everything that a handler may use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from errands.config import Config
from errands.engine.engine import Engine
from errands.frontends.web.callers import Caller
from errands.frontends.web.guard import RefusalError
from errands.frontends.web.sign_in import Signing
from errands.model.notices.notice import Address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.fleet.member import OpenFleet
    from errands.model.approval import Consent


class Finding(Protocol):
    """One result of the doctor."""

    @property
    def level(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def advice(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the program that starts the server provides, because frontends cannot import it."""

    open_engine: Callable[[], Engine]
    examine: Callable[[], Iterable[tuple[str, Finding]]]
    verdicts: Mapping[str, str]  # what the worst finding means
    channel_trouble: Callable[[str, Config], str]
    send_trial: Callable[[Address, Config], None]
    open_fleet: OpenFleet
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """`values` are the parameters of the path and the query, `body` what was sent; both are checked."""

    engine: Engine
    services: Services
    signing: Signing
    caller: Caller
    values: Mapping[str, Any]
    body: Mapping[str, Any]
    agent: str  # what the browser calls itself
    accept: str  # the formats that the caller asks for
    url: str

    @property
    def task(self) -> str:
        """The full id of the task in the path."""
        return self.engine.resolve(self.values["id"])

    @property
    def session_owner(self) -> str:
        """Whose inbox the page shows and new tasks report to."""
        return "user"

    def require_person(self) -> None:
        """Refuse a caller that is not a person."""
        if why := self.caller.why_not_a_person():
            raise RefusalError(403, why, "NotAPerson")

    @property
    def is_person(self) -> bool:
        return not self.caller.why_not_a_person()

    @property
    def consent(self) -> Consent:
        """What the caller consents to by asking: only a person has typed it."""
        return "typed" if self.is_person else "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file to be saved, never shown; `read` returns its next piece, and nothing at its end.

    Each piece may be read in another thread, which has an engine of its own.
    """

    name: str
    read: Callable[[Engine], bytes]


@dataclass(frozen=True, slots=True)
class Text:
    """Text other than JSON, with its content type."""

    content_type: str
    content: str


Answer = Mapping[str, Any] | Download | Text
Handler = Callable[[Call], Answer]


class Engines:
    """An engine for each thread, because a connection to the store belongs to one."""

    def __init__(self, open_engine: Callable[[], Engine]) -> None:
        self._open = open_engine
        self._local = threading.local()

    def mine(self) -> Engine:
        """Return the engine of this thread."""
        engine: Engine | None = getattr(self._local, "engine", None)
        if engine is None or self._local.pid != os.getpid():
            engine = self._local.engine = self._open()
            self._local.pid = os.getpid()
        return engine
