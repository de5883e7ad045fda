"""egirl's words for triggers, channels and runs, translated to ours and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from errands.dialects.completion import remarks
from errands.dialects.output_text import error_text, one_line
from errands.dialects.projections import egirl, egirl_run
from errands.dialects.tool_context import ToolContext
from errands.model.errors import BadValue
from errands.model.options.table import BY_NAME
from errands.model.options.values import value_of
from errands.model.trigger import Cron, Every, On
from errands.model.view import View

Kind = Literal["scheduled", "event", "oneshot"]

KINDS: tuple[Kind, ...] = ("scheduled", "event", "oneshot")
# The name of a source's subject in its config; `subject` for sources of other packages.
_SUBJECTS = {
    "file": "path",
    "command": "command",
    "github": "repository",
    "webhook": "hook",
    "task": "task_id",
}
_SUBJECT = "subject"
_CLI, _STDOUT, _TERMINAL = "cli", "stdout", "terminal"


def drafted(
    *,
    kind: str,
    notify: str,
    interval: str | None = None,
    cron: str | None = None,
    event_source: str | None = None,
    event_config: Mapping[str, str] | None = None,
    max_runs: int | None = None,
    channel: str | None = None,
    channel_target: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return the options of a draft: when a task runs, how often, and where it reports."""
    _check(kind, {"interval": interval, "cron": cron}, {"source": event_source, "config": event_config})
    said: dict[str, Any] = {"notify": notify, **options}
    if kind == "oneshot":
        if max_runs not in (None, 1):
            raise BadValue("A oneshot task runs once; leave out max_runs, or say kind 'scheduled'.")
        # Every result of a task that runs once is a change.
        said["notify"] = "always" if notify == "on_change" else notify
    else:
        said["max_runs"] = max_runs
    if interval is not None:
        said["every"] = value_of(BY_NAME["every"], interval, "interval")  # a refusal names our argument
    if cron is not None:
        said["cron"] = cron
    if event_source is not None:
        said["on"], said["on_options"] = _event(event_source, event_config or {})
    if channel is not None:
        said["channels"] = (_address(channel, channel_target),)
    elif channel_target is not None:
        raise BadValue("channel_target is a place within a channel; give channel too, or leave it out.")
    return said


def _check(kind: str, times: Mapping[str, object], event: Mapping[str, object]) -> None:
    """Refuse a trigger of another kind, and a missing one."""
    when = [name for name, value in times.items() if value is not None]
    what = [f"event_{name}" for name, value in event.items() if value is not None]
    stray = {"scheduled": what, "event": when, "oneshot": [*when, *what]}[kind]
    if stray:
        right = "event" if stray[0].startswith("event_") else "scheduled"
        raise BadValue(f"{stray[0]} is for the kind '{right}', and this is '{kind}'; change one of them.")
    if kind == "scheduled" and len(when) != 1:
        raise BadValue("A scheduled task needs either interval, such as 30m, or cron, such as 0 9 * * 1-5.")
    if kind == "event" and "event_source" not in what:
        raise BadValue("An event task needs event_source: github, file or command; and event_config.")


def _event(source: str, config: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the source with its subject, and the rest of the config as its options."""
    name = _SUBJECTS.get(source, _SUBJECT)
    if name not in config:
        raise BadValue(f'event_config of {source[:80]!r} needs {name!r}, such as {{"{name}": "..."}}.')
    options = {option: value for option, value in config.items() if option != name}
    return f"{source}:{config[name]}", options


def _address(channel: str, target: str | None) -> str:
    if channel == _CLI:
        channel, target = _TERMINAL, None if target == _STDOUT else target
    return channel if not target else f"{channel}:{target}"


def kind(view: View) -> Kind:
    if view.standing is None:
        return "oneshot"
    return "event" if isinstance(view.standing.trigger, On) else "scheduled"


def listed(view: View) -> str:
    ran = egirl_run(view.latest.state)
    rule = f", {one_line(view.standing.rule, 80)}" if view.standing is not None else ""
    last = f", last run: {ran}" if ran else ""
    return f"{view.id} [{egirl(view)}{rule}{last}] {one_line(view.description, 80)}"


async def facts(context: ToolContext, view: View, longest: int) -> dict[str, Any]:
    """Return a task and its latest run with egirl's names and units."""
    run, agent = view.latest, view.agent
    ran = egirl_run(run.state)
    found: dict[str, Any] = {
        "id": view.id,
        "name": one_line(view.name),
        "description": one_line(view.description),
        "kind": kind(view),
        "status": egirl(view),
        "prompt": one_line(view.command, 1000),
        **_when(view, ran is not None),
        "notify": view.notify,
        **_where(view),
        "created_by": "agent" if view.created_by.startswith(("agent", "run ")) else "user",
        "created_at": _ms(view.created_at),
        "updated_at": _ms(view.updated_at),
        **({} if view.standing is None else {"schedule": one_line(view.standing.rule)}),
        **remarks(view),
    }
    found.pop("error", None)  # that of the latest run, which has its own place
    if ran is not None:
        found["last_run"] = {
            "id": run.id,
            "started_at": _ms(run.started_at),
            "completed_at": _ms(run.completed_at),
            "status": ran,
            "result": None if view.is_live else (await context.result(view, longest=longest)).text or None,
            "error": error_text(view) or None,
            "tokens_used": _tokens(agent.usage) if agent is not None else 0,
        }
    return found


def _when(view: View, has_begun: bool) -> dict[str, Any]:
    standing, run = view.standing, view.latest
    if standing is None:
        once = {"next_run_at": _ms(view.due_at), "run_count": view.runs - (not has_begun), "max_runs": 1}
        # A task about to run again has run before, but only its latest run is known here.
        return once if not has_begun and view.runs > 1 else {**once, "last_run_at": _ms(run.started_at)}
    waits = view.is_live and not has_begun
    return {
        **_trigger(standing.trigger),
        "next_run_at": _ms(standing.next_at),
        "last_run_at": _ms(standing.last_at),
        "run_count": standing.runs - waits,
        "max_runs": standing.max_runs,
    }


def _trigger(trigger: Every | Cron | On) -> dict[str, Any]:
    match trigger:
        case Every(span=span):
            return {"interval_ms": span // timedelta(milliseconds=1)}
        case Cron(line=line):
            return {"cron": line}
        case On(source=source, subject=subject, options=options):
            name = _SUBJECTS.get(source, _SUBJECT)
            return {"event_source": source, "event_config": {name: one_line(subject, 1000), **options}}


def _where(view: View) -> dict[str, Any]:
    """Return where a task reports first: a channel, or else its owner's inbox."""
    if not view.channels:
        return {"channel": "inbox", "channel_target": view.owner}
    first = view.channels[0]
    if first.channel == _TERMINAL:
        return {"channel": _CLI, "channel_target": _STDOUT}
    return {"channel": first.channel, "channel_target": first.target}


def _tokens(usage: Mapping[str, int]) -> int:
    return usage.get("input_tokens", 0) + usage.get("output_tokens", 0)


def _ms(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)
