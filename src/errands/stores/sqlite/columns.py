"""Columns: which column holds which field of a record, and in what form.

Times are integer microseconds; fields that no query needs are JSON. A new column of tasks is a field of
`Task`, a migration, and, if it is not named and written like its field, an entry of `TASK`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from errands.model.action import PROMPT, SHELL, Prompt
from errands.model.agent.session import USAGE, Exchange
from errands.model.codec import RowCodec, Shape
from errands.model.errors import BadValue, StoreUnreadable
from errands.model.limits import LIMITS
from errands.model.notices.notice import parse_address
from errands.model.record import evolve
from errands.model.run import Run
from errands.model.task import PRIORITIES, Task
from errands.model.text.json_text import plain_text, utf8
from errands.model.trigger import At, Now, as_plain, from_plain
from errands.model.view import AgentView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from errands.model.action import Action
    from errands.model.limits import Limits
    from errands.model.notices.notice import Address
    from errands.model.trigger import Standing, Trigger


# What reading a damaged row can raise.
DAMAGE = (BadValue, ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MOST_KNOWN = 64
_known_limits: dict[str, Limits] = {}


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // _MICROSECOND


def maybe_micros(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


def moment(value: int) -> datetime:
    return EPOCH + timedelta(microseconds=value)


def maybe_moment(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def action_text(action: Action) -> str:
    return plain_text(PROMPT.encode(action) if isinstance(action, Prompt) else SHELL.encode(action))


def action_from(text: str, environment: str) -> Action:
    import json

    parts = json.loads(text)
    codec = PROMPT if "agent" in parts else SHELL
    return codec.decode(parts, environment=environment)


def _limits_text(limits: Limits) -> str:
    return plain_text(LIMITS.encode(limits))


def limits_from(text: str) -> Limits:
    """Read limits; most tasks have the same."""
    found = _known_limits.get(text)
    if found is None:
        import json

        if len(_known_limits) >= _MOST_KNOWN:
            _known_limits.clear()
        found = _known_limits[text] = LIMITS.decode(json.loads(text))
    return found


def _channels_text(channels: tuple[Address, ...]) -> str:
    return "\n".join(map(str, channels)) if channels else ""


def _channels_from(text: str) -> tuple[Address, ...]:
    return tuple(parse_address(line) for line in text.split("\n")) if text else ()


def standing_text(trigger: Trigger) -> str | None:
    """Write the trigger of a recurring task; a task that runs once has a time at most."""
    return None if isinstance(trigger, (Now, At)) else plain_text(as_plain(trigger))


def standing_from(text: str) -> Standing:
    import json

    return from_plain(json.loads(text))


def _trigger(standing: str | None, due_at: int | None) -> Trigger:
    if standing is not None:
        return standing_from(standing)
    return Now() if due_at is None else At(time=moment(due_at))


TEXT = Shape(utf8)
PRIORITY = Shape(PRIORITIES.index, PRIORITIES.__getitem__)
# By the type of a field, without `| None`.
TYPES: dict[str, Shape] = {
    "Limits": Shape(_limits_text, limits_from),
    "Priority": PRIORITY,
    "bool": Shape(int, bool),
    "datetime": Shape(micros, moment),
    "tuple[Address, ...]": Shape(_channels_text, _channels_from),
    "tuple[str, ...]": Shape(" ".join, lambda text: tuple(text.split())),
}
TASK = RowCodec(
    Task,
    "tasks",
    TYPES,
    columns={"action": ("action", "environment"), "trigger": ("standing", "due_at")},
    derived={
        "action": ("action", action_text),
        "environment": ("action.environment", None),
        "command": ("action.line", utf8),
        "cwd": ("action.cwd", utf8),
        "host": ("host", None),
        "standing": ("trigger", standing_text),
        "due_at": ("due_at", micros),
        "updated_at": ("created_at", micros),
    },
    name=TEXT,
    description=TEXT,
    action=Shape(read=action_from),
    trigger=Shape(read=_trigger),
)
RUN = RowCodec(
    Run,
    "runs",
    TYPES,
    given=("task_id",),
    columns={"spent": "elapsed"},
    spent=Shape(read=lambda elapsed: elapsed or 0.0),
)

EXCHANGE = RowCodec(
    Exchange,
    "exchanges",
    TYPES,
    columns={"usage": USAGE, "activity_at": "active_at"},
    usage=Shape(read=lambda *used: {name: each for name, each in zip(USAGE, used, strict=True) if each}),
)


def task_from(row: Sequence[Any]) -> Task:
    """Read a task; the error about a row that cannot be understood says which one it is."""
    try:
        return TASK.read(row)
    except DAMAGE as error:
        raise StoreUnreadable(
            f"the record of task {row[0]} is damaged ({error}); see `errands doctor`"
        ) from error


def run_from(task_id: str, row: Sequence[Any]) -> Run:
    """Read a run, likewise."""
    try:
        return RUN.read(row, task_id)
    except DAMAGE as error:
        raise StoreUnreadable(
            f"the record of run {task_id}.{row[0]} is damaged ({error}); see `errands doctor`"
        ) from error


def agent_view(action: str, resumed: int, limits: str, *exchange: Any) -> AgentView:
    """Show what only agents have, from the columns of their exchange."""
    prompt = action_from(action, "")
    assert isinstance(prompt, Prompt)
    view = AgentView(
        name=prompt.agent,
        model=prompt.model,
        resume_count=resumed,
        forked=prompt.fork is not None,
        timeout=limits_from(limits).timeout,
    )
    if exchange[0] is None:
        return view
    said = EXCHANGE.read(exchange)
    return evolve(
        view,
        tool_calls=said.usage.get("tool_calls", 0),
        tools=said.tools,
        usage=said.usage,
        activity_at=said.activity_at,
        waiting=said.waiting,
        answer=said.answer,
    )
