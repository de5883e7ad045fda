"""Watches: the check of an event trigger before it is accepted, and what is shown of its state."""

from __future__ import annotations

from errands.model.errors import BadValue
from errands.model.record import evolve
from errands.model.schedule.event_sources import KINDS
from errands.model.trigger import On
from errands.model.view import plain_value
from errands.ports.plugin import SOURCES, installed, unknown
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.config import Config
    from errands.model.trigger import Trigger
    from errands.ports.store import Store


def checked(trigger: Trigger, store: Store, config: Config) -> Trigger:
    """Return an event trigger with the full id of the task it names; refuse an unknown source."""
    assert isinstance(trigger, On)
    if trigger.source not in KINDS:
        if trigger.source not in installed(SOURCES):
            raise BadValue(unknown(SOURCES, KINDS, trigger.source, noun="event source"))
    elif trigger.source == "task" and trigger.subject != "*":
        return evolve(trigger, subject=store.resolve(trigger.subject))
    elif trigger.source == "webhook":
        _check_hook(trigger.subject, config)
    elif trigger.source == "github" and "hook" in trigger.options:
        _check_hook(trigger.options["hook"], config)
    return trigger


def watch_json(store: Store, task_id: str) -> dict[str, Any] | None:
    """Return the health of a watch, when it last observed, and its last event, as plain values."""
    watch = store.watch(task_id)
    if watch is None:
        return None
    last = store.last_signal(task_id)
    return {
        "health": watch.health,
        "checked_at": plain_value(watch.checked_at),
        "failures": watch.failures,
        "error": watch.error,
        "broken_until": plain_value(watch.broken_until),
        "waiting": store.waiting_signals(task_id)[0],
        "last_event": None if last is None else {"at": plain_value(last.at), **_facts(last.body)},
    }


def _facts(body: str) -> dict[str, Any]:
    import json

    try:
        found = json.loads(body)
    except ValueError:
        return {"text": body[:200]}
    return {"text": found.get("text", ""), "source": found.get("source")} if isinstance(found, dict) else {}


def _check_hook(name: str, config: Config) -> None:
    if name not in config.webhooks:
        near = did_you_mean(name, config.webhooks)
        raise BadValue(
            f"the configuration has no webhook {name!r}{near}; write its secret there: "
            f'[webhooks.{name}] secret = "file:PATH"'
        )
