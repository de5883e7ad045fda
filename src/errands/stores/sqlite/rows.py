"""Rows: how records of the model look in SQLite, both ways.

Times are integer microseconds; what no query asks for is JSON.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from errands.model.action import Prompt, Shell
from errands.model.errors import BadValue, StoreUnreadable
from errands.model.limits import Limits
from errands.model.notices.notice import parse_address
from errands.model.record import fields, maker
from errands.model.run import Run
from errands.model.sandbox import Sandbox
from errands.model.task import PRIORITIES, Task
from errands.model.text.json_text import plain_text
from errands.model.trigger import At, Now, as_plain, from_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.model.action import Action
    from errands.model.notices.notice import Address
    from errands.model.trigger import Standing, Trigger


# What reading a damaged row can raise.
_DAMAGE = (BadValue, ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = 2**33 * 1_000_000
_NOW = Now()


def micros(moment: datetime) -> int:
    since = moment - EPOCH  # to divide it would take three times as long
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def maybe_micros(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


def moment(value: int) -> datetime:
    # Twice as fast, and exact for as long as a float has microseconds: until the year 2242.
    if 0 <= value < _EXACT:
        return datetime.fromtimestamp(value / 1_000_000, UTC)
    return EPOCH + timedelta(microseconds=value)


def maybe_moment(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def action_text(action: Action) -> str:
    if isinstance(action, Prompt):
        return plain_text(_prompt(action))
    return plain_text(
        {
            "commands": action.commands,
            "cwd": action.cwd,
            **({"env": dict(action.env)} if action.env else {}),
            **({"before": action.before} if action.before else {}),
            **({"lastly": action.lastly} if action.lastly else {}),
            **({"input": action.input} if action.input != "none" else {}),
            **({"sandbox": _walls(action.sandbox)} if action.sandbox is not None else {}),
            **({"watch": action.watch} if action.watch else {}),
        }
    )


def _prompt(prompt: Prompt) -> dict[str, Any]:
    """Give what a prompt says beside its environment; what is none is left out."""
    values: dict[str, Any] = {
        name: dict(value) if name in ("env", "budget") else value
        for name in fields(prompt)
        if name != "environment" and (value := getattr(prompt, name)) not in (None, {}, 0, "")
    }
    return values


def _walls(sandbox: Sandbox) -> dict[str, object]:
    return {"writable": sandbox.writable, "network": sandbox.network}


_NO_LIMITS = Limits()
_last_limits = (_NO_LIMITS, "{}")


def limits_text(limits: Limits) -> str:
    """Write only what differs from no limit at all; tasks that are made together share their limits."""
    global _last_limits
    if limits is not _last_limits[0]:
        different = {
            name: value.total_seconds() if isinstance(value, timedelta) else value
            for name in fields(limits)
            if (value := getattr(limits, name)) != getattr(_NO_LIMITS, name)
        }
        _last_limits = (limits, plain_text(different))
    return _last_limits[1]


TASK_COLUMNS = (
    "id, kind, state, name, description, action, due_at, standing, limits, environment, lane, priority, "
    "notify, owner, parent, message, batch, key, template, after, created_at, created_by, approved_by, "
    "approved_at, door, verdict, digest, evidence, removed, channels"
)

_make_task = maker(
    Task,
    "id kind state name description action trigger limits lane priority notify owner parent message batch "
    "key template after created_at created_by approved_by approved_at door verdict digest evidence removed "
    "channels",
)


def task_from(row: tuple[Any, ...]) -> Task:
    """Read a task; a row that cannot be understood says which one it is."""
    (
        id_, kind, state, name, description, action, due_at, standing, limits, environment, lane, priority,
        notify, owner, parent, message, batch, key, template, after, created_at, created_by, approved_by,
        approved_at, door, verdict, digest, evidence, removed, channels,
    ) = row  # fmt: skip
    try:
        created = moment(created_at)
        return _make_task(
            id_, kind, state, name, description, action_from(action, environment), _trigger(due_at, standing),
            _limits(limits), lane, PRIORITIES[priority], notify, owner, parent, message, batch, key, template,
            tuple(after.split()) if after else (), created, created_by, approved_by,
            created if approved_at == created_at else maybe_moment(approved_at),
            door, verdict, digest, evidence, removed, channels_from(channels) if channels else (),
        )  # fmt: skip
    except _DAMAGE as error:
        raise StoreUnreadable(
            f"the record of task {id_} is damaged ({error}); see `errands doctor`"
        ) from error


def channels_text(channels: tuple[Address, ...]) -> str:
    return "\n".join(map(str, channels)) if channels else ""


def channels_from(text: str) -> tuple[Address, ...]:
    return tuple(parse_address(line) for line in text.split("\n")) if text else ()


def standing_text(trigger: Trigger) -> str | None:
    """Write the trigger of a standing task; a task that runs once has a time at most."""
    if isinstance(trigger, (Now, At)):
        return None
    return plain_text(as_plain(trigger))


def standing_from(text: str) -> Standing:
    import json

    return from_plain(json.loads(text))


def _trigger(due_at: int | None, standing: str | None) -> Trigger:
    if standing is not None:
        return standing_from(standing)
    return _NOW if due_at is None else At(time=moment(due_at))


RUN_COLUMNS = (
    "number, cause, state, attempt, created_at, started_at, stop_requested_at, stop_by, pid, elapsed"
)


def run_from(task_id: str, row: tuple[Any, ...], started: datetime | None = None) -> Run:
    number, cause, state, attempt, created_at, started_at, stop_requested_at, stop_by, pid, spent = row
    try:
        return Run(
            task_id=task_id,
            number=number,
            cause=cause,
            state=state,
            attempt=attempt,
            created_at=moment(created_at),
            started_at=started or maybe_moment(started_at),
            stop_requested_at=maybe_moment(stop_requested_at),
            stop_by=stop_by,
            pid=pid,
            spent=spent or 0.0,
        )
    except _DAMAGE as error:
        raise StoreUnreadable(
            f"the record of run {task_id}.{number} is damaged ({error}); see `errands doctor`"
        ) from error


_SHORT = 1000  # letters of an action that is worth remembering
_known_actions: dict[tuple[str, str], Action] = {}


def action_from(text: str, environment: str) -> Action:
    """Read an action; what is done again and again is read once, for records can be shared."""
    known = _known_actions.get((text, environment))
    if known is None:
        known = _read_action(text, environment)
        if len(text) < _SHORT:
            if len(_known_actions) >= _CACHED:
                _known_actions.clear()
            _known_actions[text, environment] = known
    return known


def _read_action(text: str, environment: str) -> Action:
    import json

    parts = json.loads(text)
    if "agent" in parts:
        if "tools" in parts:
            parts["tools"] = tuple(parts["tools"])
        return Prompt(environment=environment, **parts)
    for name in ("commands", "before", "lastly"):
        if name in parts:
            parts[name] = tuple([each if isinstance(each, str) else tuple(each) for each in parts[name]])
    if "sandbox" in parts:
        walls = parts["sandbox"]
        parts["sandbox"] = Sandbox(writable=tuple(walls["writable"]), network=walls["network"])
    return Shell(environment=environment, **parts)


_SPANS = ("timeout", "idle", "cpu", "grace")
_CACHED = 64
_known_limits: dict[str, Limits] = {}


def _limits(text: str) -> Limits:
    """Read limits; most tasks have the same, and records can be shared."""
    known = _known_limits.get(text)
    if known is None:
        if len(_known_limits) >= _CACHED:
            _known_limits.clear()
        known = _known_limits[text] = _read_limits(text)
    return known


def _read_limits(text: str) -> Limits:
    import json

    values: dict[str, Any] = json.loads(text)
    for name in _SPANS:
        if name in values:
            values[name] = timedelta(seconds=values[name])
    return Limits(**values)
