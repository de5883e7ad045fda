"""The facts about a task, in the words and the order that every frontend shows."""

from __future__ import annotations

from datetime import datetime, timedelta

from errands.engine.approval.question_facts import masked, sandbox_text
from errands.model.text.duration import spoken
from errands.model.text.sanitise import line
from errands.model.text.secrets import masked_variables
from errands.text import plural, size
from errands.text.describe import (
    activity,
    ago,
    local,
    progress_text,
    reported,
    result,
    signal_name,
    tokens_text,
    took_text,
    until,
    waits_for,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from errands.engine.engine import Engine
    from errands.model.view import RunView, View
    from errands.text import Look


def task_facts(engine: Engine, view: View, look: Look, *, at: datetime) -> Iterator[tuple[str, str]]:
    """Yield what there is to say about a task and its latest run; facts without a value are left out."""
    run, details = view.latest, view.details or {}
    if view.description not in (view.command, view.name):
        yield "description", line(view.description)
    if view.agent is None:
        yield "command", _commands(details) or line(view.command)
    else:
        yield from _agent_facts(engine, view, details, at)
        yield "waits for", "\n".join(_proposals(engine, view, look))
    yield "before", _hook_lines(details.get("before", ()))
    yield "finally", _hook_lines(details.get("finally", ()))
    yield "directory", line(view.cwd)
    if details.get("sandbox"):
        yield "sandbox", line(sandbox_text(details["sandbox"]))
    added = masked_variables(details["env"]) if details.get("env") else {}
    yield "environment", "\n".join(f"{line(name)}={line(value)}" for name, value in added.items())
    yield from recurring_facts(view, at)
    yield "created", f"{local(view.created_at)} ({ago(view.created_at, at=at)}) by {line(view.created_by)}"
    if view.approved_at is not None:
        by = f"{line(view.approved_by or '')} ({line(view.door)})".replace(") (", ", ")
        yield "approved", f"{local(view.approved_at)} by {by}"
    if run.state == "pending" and run.number:
        yield "state", waits_for(view, at=at)
        place = None if view.state == "proposed" else engine.lane_place(run.id)
        if place is not None and (view.due_at is None or view.due_at <= at):
            yield "place", f"{place[0]} of {place[1]} in lane {view.lane}"
    else:
        yield "after", ", ".join(details.get("after", ()))
    if view.retry is not None and run.state == "running":
        yield "try", f"{view.retry.number} of {view.retry.of}"
    if run.started_at is not None and run.state != "pending":
        yield "started", f"{local(run.started_at)} ({ago(run.started_at, at=at)})"
    if run.completed_at is not None:
        yield "ended", f"{local(run.completed_at)} ({ago(run.completed_at, at=at)})"
    yield "took" if run.completed_at else "running for", took_text(run, at=at)
    if view.is_paused and run.paused_at is not None:
        yield "paused", f"{local(run.paused_at)} ({ago(run.paused_at, at=at)})"
    elif run.paused_for >= 1:
        yield "paused for", spoken(timedelta(seconds=run.paused_for))
    yield "progress", progress_text(view, look, at=at, columns=20) if run.state == "running" else ""
    if run.state == "running" and view.activity_at is not None and view.agent is None:
        yield "last output", ago(view.activity_at, at=at)
    yield "result", _result(run)
    if run.state == "running" and run.pid is not None:
        yield "process", str(run.pid)
    if run.leftovers:
        yield "left over", f"{plural(run.leftovers, 'process', 'processes')} ended with the run"
    yield "hooks", _hooks(run.hooks or "")
    if view.host:
        yield "host", view.host if view.runs_on in ("", view.host) else f"{view.runs_on} (for {view.host})"
    yield "begins again" if run.state == "pending" else "began again", _losses(view, at)
    yield "lane", f"{view.lane}, {view.priority} priority"
    yield "limits", _limits(details.get("limits", {}))
    yield "batch", line(view.batch or "")
    yield "key", line(view.key or "")
    yield "template", line(view.template or "")
    yield "parent", line(view.parent or "")
    if view.is_live and view.wake:
        yield "at its end", reported(view)
    if run.number:
        yield "output", _output_fact(run)
    yield "files", "\n".join(line(name) for name in details.get("files", ()))


def recurring_facts(view: View, at: datetime) -> Iterator[tuple[str, str]]:
    """Yield when a recurring task runs, how often it has run, and the facts about its watch."""
    standing = view.standing
    if standing is None:
        return
    yield "event" if standing.health else "schedule", line(standing.rule)
    if standing.next_at is not None:
        yield "next run", f"{local(standing.next_at)} ({until(standing.next_at, at=at)})"
    if standing.last_at is not None:
        yield "last run", f"{local(standing.last_at)} ({ago(standing.last_at, at=at)})"
    yield "runs", f"{standing.runs}" + ("" if standing.max_runs is None else f" of {standing.max_runs}")
    if standing.failures:
        yield "failures", f"{standing.failures} in a row"
    yield from _watch_facts(view, at)


def _watch_facts(view: View, at: datetime) -> Iterator[tuple[str, str]]:
    watch = (view.details or {}).get("watch")
    if watch is None or view.standing is None:
        return
    health = watch["health"]
    if watch["failures"]:
        health += f", {plural(watch['failures'], 'check')} in a row failed"
    yield "watch", f"{health}: {line(watch['error'])}" if watch["error"] else health
    if view.standing.checked_at is not None:
        yield "last check", f"{local(view.standing.checked_at)} ({ago(view.standing.checked_at, at=at)})"
    last = watch["last_event"]
    if last is not None and view.standing.signal_at is not None:
        yield "last event", f"{line(last.get('text', ''))} ({ago(view.standing.signal_at, at=at)})"
    if watch["waiting"]:
        yield "waiting", f"{plural(watch['waiting'], 'signal')} for a run"


def _agent_facts(
    engine: Engine, view: View, details: Mapping[str, Any], at: datetime
) -> Iterator[tuple[str, str]]:
    agent = view.agent
    assert agent is not None
    yield "prompt", line(view.command)
    if view.latest.cause == "resume" and (exchange := engine.sessions.exchange(view.latest.id)) is not None:
        yield "follow-up", line(exchange.text)
    yield "agent", " · ".join(filter(None, [line(agent.name), line(agent.model or "")]))
    yield "session", line(details.get("session") or "")
    yield "fork of", line(details.get("forked_from") or "")
    if agent.resume_count:
        yield "resumed", plural(agent.resume_count, "time")
    yield "doing" if view.is_live else "did", activity(view)
    yield "used", tokens_text(view)
    if view.is_live and agent.activity_at is not None:
        yield "last activity", ago(agent.activity_at, at=at)
    budget = details.get("budget") or {}
    yield "budget", ", ".join(plural(amount, name.removesuffix("s")) for name, amount in budget.items())


def _proposals(engine: Engine, view: View, look: Look) -> Iterator[str]:
    """Name the tasks that need approval before the agent can continue, and how to answer."""
    if view.agent is not None and view.agent.waiting == "approval":
        for each in engine.proposals_of(view):
            how = look.command(f"approve {each.id}")
            yield f"approval of {each.id}: {masked(each.command)}  ({how}, or reject)"


def _losses(view: View, at: datetime) -> str:
    """Return which hosts the latest run was lost with, so that another one has it now, or will."""
    lost = [each for each in (view.details or {}).get("lost_hosts", ()) if each["run"] == view.latest.number]
    words = "from its beginning" if view.agent is None else "from its last step"
    return "\n".join(
        f"{words}, because {line(each['host'])} was lost {ago(datetime.fromisoformat(each['at']), at=at)}"
        for each in lost
    )


def _hooks(codes: str) -> str:
    """Return how the hooks ended: `before ok, finally failed with 3`."""
    words = []
    for each in filter(None, codes.split(",")):
        role, _, code = each.partition(":")
        words.append(f"{role} ok" if code == "0" else f"{role} failed with {line(code)}")
    return ", ".join(words)


def _result(run: RunView) -> str:
    """Return how a run ended: the reason, and the exit code or signal where that is not the reason."""
    words = [result(run)]
    if run.state == "cancelled":
        words.append(line(run.error or ""))
    if run.failure not in ("exit", "signal"):
        if run.signal is not None:
            words.append(f"ended by {signal_name(run.signal)}")
        elif run.exit_code:
            words.append(f"exit {run.exit_code}")
    return " · ".join(filter(None, words))


def _output_fact(run: RunView) -> str:
    words = run.output_file
    if run.completed_at is not None:
        if not run.bytes and not run.output_failed:
            return f"none ({words})"
        words += f" ({plural(run.lines, 'line')}, {size(run.bytes)}"
        words += ", the middle was not kept)" if run.truncated else ")"
    if run.output_failed:
        words += f"\nnot all of it could be written: {line(run.output_failed)}"
    return words


def _commands(details: Mapping[str, Any]) -> str:
    return "\n".join(_written(command) for command in details.get("commands", ()))


def _hook_lines(commands: Any) -> str:
    return "\n".join(_written(command) for command in commands)


def _written(command: Any) -> str:
    from errands.model.action import written
    from errands.model.text.mask import Mask

    return line(Mask({}).text(written(command if isinstance(command, str) else tuple(command))))


def _limits(limits: Mapping[str, Any]) -> str:
    words = []
    silence = "silence (only reported)" if limits.get("on_idle") == "report" else "silence"
    for name, label in (("timeout", "time"), ("idle", silence), ("cpu", "CPU time")):
        if limits.get(name):
            words.append(f"{label} {spoken(timedelta(seconds=limits[name]))}")
    if limits.get("memory"):
        words.append(f"memory {size(limits['memory'])}")
    if limits.get("processes"):
        words.append(plural(limits["processes"], "process", "processes"))
    if limits.get("nice") is not None:
        words.append(f"niceness {limits['nice']}")
    if limits.get("retries"):
        words.append(plural(limits["retries"], "retry", "retries"))
    if limits.get("on_loss") == "again":
        words.append("run again if its host is lost")
    return ", ".join(words)
