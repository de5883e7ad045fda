"""The tool calls of an agent, as its events keep them: the arguments and the result of each."""

from __future__ import annotations

import json

from errands.model.record import evolve, record
from errands.model.text.sanitise import line, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.engine.core import EngineCore

MOST = 2000  # calls of one task; the newest are returned


@record
class LoggedCall:
    """`arguments` and `result` were masked and clipped when they were kept; `id` is the backend's own."""

    id: str
    name: str
    started_at: datetime
    ended_at: datetime | None = None
    arguments: str = ""
    result: str = ""
    failed: bool = False


def calls_of(core: EngineCore, task_id: str) -> dict[int, list[LoggedCall]]:
    """Return the calls of an agent in their order, by the number of the run; their texts are safe to show."""
    found: dict[tuple[int, str], LoggedCall] = {}
    for event in core.store.events(task_id):
        if event.name not in ("tool", "tool_end") or event.run is None:
            continue
        try:
            detail = json.loads(event.detail)
            key, text = (event.run, str(detail["call"])), visible(str(detail.get("text", "")))
        except (ValueError, KeyError, TypeError):
            continue  # of an older version
        if event.name == "tool":
            name = line(str(detail.get("name", "")))
            found[key] = LoggedCall(id=key[1], name=name, started_at=event.at, arguments=text)
        elif key in found:
            is_failed = bool(detail.get("failed"))
            found[key] = evolve(found[key], result=text, failed=is_failed, ended_at=event.at)
    calls: dict[int, list[LoggedCall]] = {}
    for (run, _), each in list(found.items())[-MOST:]:
        calls.setdefault(run, []).append(each)
    return calls


def started_by(core: EngineCore, task_id: str, run: int, call_id: str) -> str | None:
    return core.id_by_key(f"{task_id}.{run}:{call_id}")
