"""The ledger of a session: what was posted, prompted and answered, kept on the desk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from errands.model.agent.errors import SessionGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext


class Ledger:
    """An entry has a `kind`: open, fork, post, prompt or answer; the last two have their `run`."""

    def __init__(self, context: AgentContext, session: str) -> None:
        lines = context.messages(session)
        if lines is None:
            raise SessionGone
        self._context = context
        self.session = session
        self.entries: list[Mapping[str, Any]] = [json.loads(line) for line in lines]

    @classmethod
    def new(cls, context: AgentContext, session: str, entries: Sequence[Mapping[str, Any]]) -> Ledger:
        context.append_messages(session, [json.dumps(each) for each in entries], usage={})
        return cls(context, session)

    def add(self, kind: str, **fields: Any) -> None:
        entry = {"kind": kind, **fields}
        self._context.append_messages(self.session, [json.dumps(entry)], usage=fields.get("usage", {}))
        self.entries.append(entry)

    def of(self, kind: str, run: str) -> Mapping[str, Any] | None:
        """Give the newest entry of a kind for a run."""
        fitting = (each for each in reversed(self.entries) if each["kind"] == kind and each["run"] == run)
        return next(fitting, None)
