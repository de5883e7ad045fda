"""What several backends share: the log of a session, the check of settings, activities with bounded texts."""

from __future__ import annotations

import json

from errands.config.backends import BACKENDS, COMMON
from errands.model.errors import BadValue, SessionGone
from errands.ports.agent import Activity
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from errands.ports.agent import AgentContext

LONGEST_TEXT = 2000  # characters of a text in an activity

INTERRUPTED = (
    "You were interrupted while you worked on the request before this one, and are running again now. A tool "
    "call without a result may or may not have been carried out: look before you do anything twice. Then "
    "finish the request."
)


class SessionLog:
    """The JSON entries that a backend stores about one session, oldest first; `SessionGone` without any."""

    def __init__(self, context: AgentContext, session: str, lines: Sequence[str] | None = None) -> None:
        if lines is None:
            lines = context.messages(session)
        if lines is None:
            raise SessionGone
        self._context = context
        self.session = session
        self.entries: list[Mapping[str, Any]] = [json.loads(line) for line in lines]

    @classmethod
    def create(
        cls, context: AgentContext, session: str, entries: Iterable[Mapping[str, Any]] = ()
    ) -> SessionLog:
        context.append_messages(session, [json.dumps(each) for each in entries])
        return cls(context, session)

    def add(self, **entry: Any) -> Mapping[str, Any]:
        self._context.append_messages(self.session, [json.dumps(entry)])
        self.entries.append(entry)
        return entry

    def of_run(self) -> list[Mapping[str, Any]]:
        return [each for each in self.entries if each.get("run") == self._context.run]


def forked(context: AgentContext, session: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the stored messages that a fork copies, and those that came after it was asked for."""
    messages, end = context.messages(session), context.spec.fork_at
    if messages is None:
        raise SessionGone
    count = int(end) if end is not None and end.isdecimal() else len(messages)
    return messages[:count], messages[count:]


def check_settings(backend: str, settings: Mapping[str, Any]) -> None:
    """Raise `BadValue` for a setting that the backend does not have."""
    known = sorted(BACKENDS[backend])
    for name in settings:
        if name not in (*known, *COMMON, "home"):
            hint = did_you_mean(name, known)
            raise BadValue(
                f"the agent backend {backend!r} has no setting {name!r}{hint}; there are {', '.join(known)}"
            )


def tool_started(name: str, call_id: str, arguments: Mapping[str, Any]) -> Activity:
    text = str(arguments.get("command") or (json.dumps(arguments, ensure_ascii=False) if arguments else ""))
    return Activity(kind="tool", name=name, call_id=call_id, text=text[:LONGEST_TEXT])


def tool_ended(name: str, call_id: str, content: Any, *, failed: bool) -> Activity:
    """Return the end of a call; its content is a text, or a list of parts, some with a text."""
    if isinstance(content, list):
        content = "\n".join(str(each.get("text", "")) for each in content if isinstance(each, dict))
    text = str(content or "")[:LONGEST_TEXT]
    return Activity(kind="tool_end", name=name, call_id=call_id, text=text, failed=failed)


def text_said(text: str) -> Activity:
    return Activity(kind="text", text=text[:LONGEST_TEXT])
