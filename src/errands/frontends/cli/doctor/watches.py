"""The doctor's checks of tasks that wait for events, their sources and webhooks."""

from __future__ import annotations

import os
from datetime import timedelta

from errands.config.secret import read_secret
from errands.frontends.cli.context import Context
from errands.frontends.cli.doctor import Finding, fail, ok, warn
from errands.model.errors import BadValue
from errands.model.text.duration import parse_duration
from errands.model.text.sanitise import line
from errands.model.trigger import On
from errands.text import plural
from errands.text.describe import ago, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STALLED = timedelta(minutes=5)
LOOPBACK = ("127.", "localhost:", "[::1]:")


def event_findings(context: Context) -> Iterator[Finding]:
    if os.path.exists(context.home.store):
        yield from _watches(context)
    yield from _webhooks(context)


def _watches(context: Context) -> Iterator[Finding]:
    at, well = now(), 0
    for watch, trigger in context.engine.schedules.watches():
        missing = context.bootstrap.source_trouble(trigger.source)
        advice = f"errands show {watch.task_id}"
        if missing:
            yield fail(f"{watch.task_id} waits for {trigger.source}: {missing}", "install it")
        elif watch.health in ("failing", "broken"):
            yield warn(f"the watch of {watch.task_id} is {watch.health}: {line(watch.error or '')}", advice)
        elif watch.checked_at is not None and at - watch.checked_at > STALLED + _pause(trigger):
            checked = ago(watch.checked_at, at=at)
            yield warn(f"the watch of {watch.task_id} was last checked {checked}", "errands daemon start")
        else:
            well += 1
    yield ok(f"{plural(well, 'watch', 'watches')} working" if well else "no task waits for events")


def _pause(trigger: On) -> timedelta:
    every = trigger.options.get("every")
    return 2 * parse_duration(every) if every else timedelta()


def _webhooks(context: Context) -> Iterator[Finding]:
    hooks, listen = context.config.webhooks, context.config.events.listen
    for name, settings in hooks.items():
        place = str(settings["secret"])
        try:
            read_secret(place)
        except BadValue as error:
            yield fail(f"webhook {name}: {error}", f"correct [webhooks.{name}]")
            continue
        path = os.path.expanduser(place.partition(":")[2])
        if place.startswith("file:") and os.stat(path).st_mode & 0o077:
            yield fail(f"webhook {name}: others can read its secret {path}", f"chmod 600 {path}")
    if hooks and not listen.startswith(LOOPBACK):
        text = f"webhooks arrive at {listen}, which other machines can reach without encryption"
        yield warn(text, "put a TLS proxy in front of it, and listen on 127.0.0.1")
