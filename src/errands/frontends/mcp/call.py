"""A call: one use of a tool, which can be repeated without doing anything twice.

It remembers what it launched, so it can continue after a person's answer, or in another process after this
one died. `asking` are the tasks it found waiting for a person, `asked` the questions already put to one; the
newest of these forms was sent at `shown_at`.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from mcp_types import CallToolResult, TextContent

from errands.dialects.tool_context import declined_text
from errands.model.approval import Approval
from errands.model.codec import JsonCodec
from errands.model.errors import ErrandsError
from errands.ports.dialect import Caller, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.dialect import Dialect, EngineApi

_LOG = logging.getLogger("errands.mcp")
_PREFIX = "call-"
_DIGITS = 16
_LAUNCHES_WITHIN = 10  # times as long as a call that waits
_STORED = ("id", "tool", "arguments", "launched", "asking", "turned_down", "failure")  # stored as they are
_CALLER = JsonCodec(Caller, has_defaults=True)
_REPLY = JsonCodec(Reply, has_defaults=True)

Report = Callable[[float, float | None, str], None]  # done, total, message


class Call:
    def __init__(self, tool: str, arguments: Mapping[str, Any], caller: Caller) -> None:
        self.id = _PREFIX + secrets.token_hex(_DIGITS // 2)
        self.tool = tool
        self.arguments = dict(arguments)
        self.caller = caller
        self.created_at = self.updated_at = datetime.now(UTC)
        self.launched: list[str] = []
        self.asking: list[str] = []
        self.asked: set[int] = set()
        self.shown_at: datetime | None = None
        self.turned_down: list[str] = []
        self.reply: Reply | None = None
        self.failure: str | None = None
        self.is_cancelled = False
        self.is_kept = False
        self.waits = 0  # for how many tasks it waits now
        self.message = ""
        self.report: Report | None = None
        self.on_end: Callable[[Call], None] | None = None
        self._seen: set[int] = set()
        self._work: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    @property
    def is_over(self) -> bool:
        return self.is_cancelled or self.reply is not None or self.failure is not None

    def begin(self, dialect: Dialect, engine: EngineApi) -> None:
        """Start the call, or continue it where it stopped."""
        self.stop()
        self.reply = self.failure = None
        self._changed.clear()
        self._work = asyncio.create_task(self._run(dialect, engine))

    def stop(self) -> None:
        """Stop waiting; what was launched keeps running."""
        if self._work is not None:
            self._work.cancel()
            self._work = None

    async def wait(self, within: float | None = None) -> None:
        """Wait until the call is over, finds a question, or `within` seconds have passed.

        A call that waits for no task has ten times as long: it launches something, and a daemon may
        have to start first, and its caller can do nothing without the reply.
        """
        for _ in range(_LAUNCHES_WITHIN):
            try:
                async with asyncio.timeout(within):
                    await self._changed.wait()
                break
            except TimeoutError:
                if self.waits or self.is_over:
                    break
        self._changed.clear()

    def cancel(self) -> None:
        self.is_cancelled = True
        self.stop()
        self._end()

    def note_question(self, question: Approval) -> None:
        if question.task_id not in self.asking:
            self.asking.append(question.task_id)
        if question.id not in self.asked and question.id not in self._seen:
            self._seen.add(question.id)
            self._changed.set()

    def progress(self, done: float, total: float | None, message: str) -> None:
        self.message = message
        self.updated_at = datetime.now(UTC)
        if self.report is not None:
            self.report(done, total, message)

    def result(self) -> CallToolResult:
        """Return the result of the call, in the words of the dialect."""
        reply = self.reply
        assert reply is not None
        if self.turned_down and not reply.failed:
            # A dialect that does not look at answers would report what it launched as started.
            reply = Reply(text=declined_text(", ".join(self.turned_down)), failed=True)
        return CallToolResult(
            content=[TextContent(type="text", text=reply.text)],
            structured_content=None if reply.content is None else dict(reply.content),
            is_error=reply.failed,
        )

    async def _run(self, dialect: Dialect, engine: EngineApi) -> None:
        try:
            self.reply = await dialect.call(engine, self.caller, self.tool, self.arguments)
        except ErrandsError as error:  # of the store, the home or the daemon
            self.reply = Reply(text=str(error), failed=True)
        except Exception:  # noqa: BLE001  # ends this call and nothing else
            _LOG.exception("the tool %s failed", self.tool)
            self.failure = f"the tool {self.tool} failed; see the log of the server"
        self._end()

    def _end(self) -> None:
        self.updated_at = datetime.now(UTC)
        if self.on_end is not None:
            self.on_end(self)
        self._changed.set()


def is_call_id(text: str) -> bool:
    """Return whether a text has the form of a call id, which makes it safe as a file name."""
    digits = text.removeprefix(_PREFIX)
    return text.startswith(_PREFIX) and len(digits) == _DIGITS and set("0123456789abcdef").issuperset(digits)


def as_plain(call: Call) -> dict[str, Any]:
    """Return what another process needs to continue a call, or to report its result."""
    return {
        **{name: getattr(call, name) for name in _STORED},
        "caller": _CALLER.encode(call.caller),
        "created_at": call.created_at.isoformat(),
        "updated_at": call.updated_at.isoformat(),
        "asked": sorted(call.asked),
        "shown_at": None if call.shown_at is None else call.shown_at.isoformat(),
        "reply": None if call.reply is None else _REPLY.encode(call.reply),
        "cancelled": call.is_cancelled,
    }


def from_plain(plain: Mapping[str, Any]) -> Call:
    """Read what `as_plain` wrote; anything else raises ValueError, TypeError or KeyError."""
    call = Call(plain["tool"], plain["arguments"], _CALLER.decode(plain["caller"]))
    for name in _STORED:
        setattr(call, name, plain[name])
    call.created_at = datetime.fromisoformat(plain["created_at"])
    call.updated_at = datetime.fromisoformat(plain["updated_at"])
    call.asked = set(plain["asked"])
    if shown_at := plain.get("shown_at"):
        call.shown_at = datetime.fromisoformat(shown_at)
    if plain["reply"] is not None:
        call.reply = _REPLY.decode(plain["reply"])
    call.is_cancelled = plain["cancelled"]
    return call


def may_see(call: Call, caller: Caller) -> bool:
    return caller.everything or call.caller.session == caller.session
