"""show: everything about one task, with the end of its output."""

from __future__ import annotations

from datetime import timedelta

from errands.frontends.cli.approval.caller import is_person
from errands.frontends.cli.context import masked_variables
from errands.frontends.cli.display.recurring import watch_facts
from errands.frontends.cli.live.output_filter import clean
from errands.frontends.cli.parser import JSON, Operand, Option, Verb, whole
from errands.frontends.cli.targets import newest_task, resolved
from errands.model.errors import NotFound
from errands.model.record import evolve
from errands.model.text.duration import spoken
from errands.model.text.naming import span_id
from errands.model.text.sanitise import line
from errands.text import Cell, Column, facts, plural, rule, size, state_cell, table
from errands.text.describe import (
    activity,
    ago,
    local,
    no_daemon_note,
    now,
    progress_text,
    reported,
    result,
    signal_name,
    state_word,
    tokens_text,
    took_text,
    waits_for,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.view import RunView, View

# A run that takes input and has been silent for this long probably waits for some.
QUIET = timedelta(seconds=10)
SHOWN = 10  # runs of a task that has a schedule
# What is obvious while a task waits for approval, and what the question shows anyway.
OBVIOUS = ("state", "output")
EXACT = (*OBVIOUS, "command", "before", "finally", "directory", "environment")


def show(context: Context, arguments: Arguments) -> int:
    given = newest_task(context, (), "yet") if arguments.id is None else arguments.id
    name, _, number = given.partition(".")
    view = context.engine.get(resolved(context, name))
    if number:
        view = of_run(context, view, number)
    piece = context.engine.tail(view.latest.id if number else view.id, arguments.lines)
    output = clean(context, view, piece, colour=context.look.colour and not arguments.json)
    context.engine.mark_retrieved(view)
    if arguments.json:
        context.print_view(view, output_tail=output)
        return 0
    look, at = context.look, now()
    state = state_cell(state_word(view), look)
    marks = f" {view.marks}" if view.marks else ""
    shown = view.latest.id if number else view.id
    context.say(f"{look.paint(shown, 'bold')}{marks}  {look.paint(state.text, state.colour)}")
    if warning := no_daemon_note(context.engine.bell.is_answered, [view]):
        context.say(look.paint(warning, "yellow"))
    pairs = _facts(context, view, at)
    if view.question is not None or view.state == "proposed":
        pairs = _answerable(context, view, pairs, at)
    mask = context.engine.mask(view.id)
    context.say(*facts(((name, mask.text(value)) for name, value in pairs), look))
    if len(view.history) > 1 and not number:
        context.say("", *_runs(context, view, at))
    if output or (arguments.lines != 0 and view.state != "proposed"):
        _show_output(context, view, output, at)
    return 0


def of_run(context: Context, view: View, number: str) -> View:
    """Return a task as it was with one of its runs; refuse a run that it does not have."""
    runs = view.history if view.standing is None else context.engine.history(view.id)
    for run in runs:
        if str(run.number) == number:
            if run.id == view.latest.id and view.standing is None:
                return view
            return evolve(view, latest=run, state=run.state, standing=None, progress=None)
    raise NotFound(f"{view.id} has no run {number[:20]!r}; errands show {view.id} lists its runs")


def _answerable(
    context: Context, view: View, pairs: Iterator[tuple[str, str]], at: datetime
) -> Iterator[tuple[str, str]]:
    """Add what the person who answers must know; at a terminal, exactly what would run, unmasked."""
    from errands.engine.approval.question_facts import facts_of, masked
    from errands.text.question import question

    if is_person():
        context.say(*question(facts_of(context.engine, context.environ, view), context.look))
    elif view.question is not None:
        yield "because", "\n".join(masked(reason.text) for reason in view.question.reasons)
    left_out = EXACT if is_person() else OBVIOUS
    yield from ((name, value) for name, value in pairs if name not in left_out)
    if view.question is not None:
        yield "expires", ago(view.question.expires_at, at=at)
    yield "approve", context.look.command(f"approve {view.id}")
    yield "reject", context.look.command(f"reject {view.id}")


def _facts(context: Context, view: View, at: datetime) -> Iterator[tuple[str, str]]:
    from errands.engine.approval.question_facts import sandbox_text

    run, details = view.latest, view.details or {}
    if view.description not in (view.command, view.name):
        yield "description", line(view.description)
    if view.agent is None:
        yield "command", _commands(details) or line(view.command)
    else:
        yield from _agent_facts(view, details, at)
        yield "waits for", "\n".join(_proposals(context, view))
    yield "before", _hook_lines(details.get("before", ()))
    yield "finally", _hook_lines(details.get("finally", ()))
    yield "directory", line(view.cwd)
    if details.get("sandbox"):
        yield "sandbox", line(sandbox_text(details["sandbox"]))
    added = masked_variables(details["env"]) if details.get("env") else {}
    yield "environment", "\n".join(f"{line(name)}={line(value)}" for name, value in added.items())
    yield from _recurring_facts(view, at)
    yield "created", f"{local(view.created_at)} ({ago(view.created_at, at=at)}) by {line(view.created_by)}"
    if view.approved_at is not None:
        by = f"{line(view.approved_by or '')} ({line(view.door)})".replace(") (", ", ")
        yield "approved", f"{local(view.approved_at)} by {by}"
    if run.state == "pending" and run.number:
        yield "state", waits_for(view, at=at)
    else:
        yield "after", ", ".join(details.get("after", ()))
    if view.retry is not None and run.state == "running":
        yield "try", f"{view.retry.number} of {view.retry.of}"
    if run.started_at is not None:
        yield "started", f"{local(run.started_at)} ({ago(run.started_at, at=at)})"
    if run.completed_at is not None:
        yield "ended", f"{local(run.completed_at)} ({ago(run.completed_at, at=at)})"
    yield "took" if run.completed_at else "running for", took_text(run, at=at)
    if view.is_paused and run.paused_at is not None:
        yield "paused", f"{local(run.paused_at)} ({ago(run.paused_at, at=at)})"
    elif run.paused_for >= 1:
        yield "paused for", spoken(timedelta(seconds=run.paused_for))
    yield "progress", progress_text(view, context.look, at=at, columns=24) if run.state == "running" else ""
    if run.state == "running" and view.activity_at is not None and view.agent is None:
        yield "last output", ago(view.activity_at, at=at)
    yield "result", _result(run)
    if run.state == "running" and run.pid is not None:
        yield "process", str(run.pid)
    if run.leftovers:
        yield "left over", f"{plural(run.leftovers, 'process', 'processes')} ended with the run"
    yield "hooks", _hooks(run.hooks or "")
    yield "lane", f"{view.lane}, {view.priority} priority"
    yield "limits", _limits(details.get("limits", {}))
    yield "batch", line(view.batch or "")
    yield "key", line(view.key or "")
    yield "template", line(view.template or "")
    yield "parent", line(view.parent or "")
    if view.is_live and view.wake:
        yield "at its end", reported(view)
    if run.number:
        yield "span", span_id(run.id, run.created_at)
        yield "output", _output_fact(run)
    yield "files", "\n".join(line(name) for name in details.get("files", ()))


def _recurring_facts(view: View, at: datetime) -> Iterator[tuple[str, str]]:
    standing = view.standing
    if standing is None:
        return
    yield "event" if standing.health else "schedule", line(standing.rule)
    if standing.next_at is not None:
        yield "next run", f"{local(standing.next_at)} ({ago(standing.next_at, at=at)})"
    if standing.last_at is not None:
        yield "last run", f"{local(standing.last_at)} ({ago(standing.last_at, at=at)})"
    yield "runs", f"{standing.runs}" + ("" if standing.max_runs is None else f" of {standing.max_runs}")
    if standing.failures:
        yield "failures", f"{standing.failures} in a row"
    yield from watch_facts(view, at)


def _agent_facts(view: View, details: Mapping[str, Any], at: datetime) -> Iterator[tuple[str, str]]:
    agent = view.agent
    assert agent is not None
    yield "prompt", line(view.command)
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


def _proposals(context: Context, view: View) -> Iterator[str]:
    """Name the tasks that need approval before the agent can continue, and how to answer."""
    if view.agent is not None and view.agent.waiting == "approval":
        from errands.engine.approval.question_facts import masked

        for each in context.engine.proposals_of(view):
            how = context.look.command(f"approve {each.id}")
            yield f"approval of {each.id}: {masked(each.command)}  ({how}, or reject)"


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
    return ", ".join(words)


def _runs(context: Context, view: View, at: datetime) -> list[str]:
    columns = (
        Column(title="RUN", right=True),
        Column(title="STATE"),
        Column(title="CAUSE"),
        Column(title="STARTED"),
        Column(title="TOOK", right=True),
        Column(title="RESULT", flex=1),
    )
    rows: list[tuple[str | Cell, ...]] = [
        (
            str(run.number),
            state_cell(run.state, context.look),
            run.cause,
            local(run.started_at) if run.started_at else "",
            took_text(run, at=at),
            result(run),
        )
        for run in (view.history if view.standing is None else view.history[-SHOWN:])
    ]
    return table(columns, rows, context.look)


def _show_output(context: Context, view: View, output: str, at: datetime) -> None:
    run, look = view.latest, context.look
    lines = output.rstrip("\n").split("\n") if output.strip("\n") else []
    if not lines and run.started_at is None:
        return
    last = "last line" if len(lines) == 1 else f"last {len(lines)} lines"
    context.say("", rule(f"{last} of output" if lines else "no output", look), *lines)
    if lines:
        context.say(rule("", look))
    takes_input = (view.details or {}).get("input", "none") != "none"
    if view.is_paused:
        context.say(f"its processes are suspended: {look.command('unpause')} {view.id}")
    elif takes_input and run.state == "running" and view.activity_at and at - view.activity_at > QUIET:
        silence = spoken(at - view.activity_at)
        context.say(f"silent for {silence}; it may be waiting for input: {look.command('send')} {view.id}")
    if not lines and run.state != "running":
        return
    # In a chat, where it could not be left, following is refused.
    more = look.command("logs -f" if run.state == "running" and look.prefix != "/" else "logs")
    context.say(look.paint(f"full output: {more} {view.id}", "dim"))


VERBS = (
    Verb(
        name="show",
        summary="show everything about a task and the end of its output",
        run=show,
        options=(
            Option(
                flags=("-n", "--lines"),
                metavar="N",
                convert=whole,
                help="show the last N lines of output (default 20, or runs.tail_lines)",
            ),
            JSON,
        ),
        details="Without an id, the newest task is meant.",
        operands=(
            Operand(
                metavar="ID",
                help="the task, or one run of it: pytest-7k2m4x.2",
                optional=True,
                completes="tasks",
            ),
        ),
    ),
)
