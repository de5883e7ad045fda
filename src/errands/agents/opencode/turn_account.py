"""The account of a turn: what was done and used, reported once, however often the messages are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from errands.agents.session_log import text_said, tool_ended, tool_started
from errands.model.errors import BudgetExceeded
from errands.ports.agent import Activity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext


class Account:
    """It stores what was reported, so that the next process of the run does not repeat it."""

    def __init__(self, context: AgentContext, session: str) -> None:
        self.used = {"input_tokens": 0, "output_tokens": 0, "requests": 0, "tool_calls": 0}
        self._context = context
        self._session = session
        self._reported = {
            each.get("told") for each in entries(context, session) if each["run"] == context.run
        }
        self._counted: set[str] = set()
        self._begun: set[str] = set()
        self._ended: set[str] = set()

    @property
    def overrun(self) -> BudgetExceeded | None:
        """The budget that is used up, if any."""
        return BudgetExceeded.among(self._context.spec.budget, self.used)

    @property
    def has_running_tool(self) -> bool:
        return bool(self._begun - self._ended)

    def add(self, message: Mapping[str, Any]) -> None:
        """Count and report a message of the model, finished or not."""
        about = message["info"]
        is_new = about["id"] not in self._reported
        for part in message["parts"]:
            if part["type"] == "tool":
                self.add_tool(part, is_new=is_new)
        if "completed" not in about["time"] or about["id"] in self._counted:
            return
        self._counted.add(about["id"])
        used = {"requests": 1, **_usage(about)}
        for name, number in used.items():
            self.used[name] = self.used.get(name, 0) + number
        if is_new:
            self._context.report(Activity(kind="usage", usage=used))
            if text := text_of(message):
                self._context.report(text_said(text))
            entry = {"kind": "told", "run": self._context.run, "told": about["id"]}
            self._context.append_messages(self._session, [json.dumps(entry)])

    def add_tool(self, part: Mapping[str, Any], *, is_new: bool = True) -> None:
        call_id, name, state = part["callID"], part["tool"], part["state"]["status"]
        if state in ("running", "completed", "error") and call_id not in self._begun:
            self._begun.add(call_id)
            self.used["tool_calls"] += 1
            if is_new:
                self._context.report(tool_started(name, call_id, part["state"].get("input") or {}))
        if state in ("completed", "error") and call_id not in self._ended:
            self._ended.add(call_id)
            if is_new:
                failed = state == "error"
                said = part["state"].get("error" if failed else "output")
                self._context.report(tool_ended(name, call_id, said, failed=failed))


def entries(context: AgentContext, session: str) -> list[dict[str, Any]]:
    return [json.loads(each) for each in context.messages(session) or ()]


def text_of(message: Mapping[str, Any]) -> str:
    parts = message["parts"]
    said = [each["text"] for each in parts if each["type"] == "text" and not each.get("synthetic")]
    return "\n".join(said).strip()


def _usage(about: Mapping[str, Any]) -> dict[str, int]:
    tokens = about.get("tokens") or {}
    cache = tokens.get("cache") or {}
    used = {
        "input_tokens": tokens.get("input", 0) + cache.get("read", 0) + cache.get("write", 0),
        "output_tokens": tokens.get("output", 0) + tokens.get("reasoning", 0),
        "cost_microdollars": round(about.get("cost", 0) * 1e6),
    }
    return {name: int(number) for name, number in used.items() if number}
