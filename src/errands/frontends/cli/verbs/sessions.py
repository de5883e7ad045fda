"""sessions: the conversations with agents, or one of them in full."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.live.output_filter import clean_text
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Verb, operand
from errands.model.errors import BadValue
from errands.model.states import LIVE
from errands.model.text.sanitise import line
from errands.model.view import RunView, plain_value
from errands.text import Cell, Column, plural, rule, state_cell, table
from errands.text.describe import age, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.agent.session import Exchange

COLUMNS = (
    Column(title="SESSION", flex=2, least=24),
    Column(title="AGENT", drop=2),
    Column(title="STATE"),
    Column(title="PROMPTS", right=True, drop=4),
    Column(title="STARTED", right=True, drop=3),
    Column(title="ABOUT", flex=1, least=12, drop=1),
)


def sessions(context: Context, arguments: Arguments) -> int:
    return _one(context, arguments) if arguments.id else _all(context, arguments)


def _all(context: Context, arguments: Arguments) -> int:
    found = context.engine.sessions.sessions()
    views = {
        view.id: view
        for view in context.engine.summaries(list(dict.fromkeys(each.task_id for each in found)))
    }
    rows: list[tuple[str | Cell, ...]] = []
    for each in found:
        view = views[each.task_id]
        resumed = view.agent.resume_count if view.agent else 0
        if arguments.json:
            context.print_json(
                {
                    "session": each.name,
                    "task": each.task_id,
                    "agent": each.agent,
                    "state": view.state,
                    "forked_from": each.forked_from,
                    "resume_count": resumed,
                    "created_at": plain_value(each.created_at),
                    "gone": each.gone_at is not None,
                }
            )
            continue
        rows.append(
            (
                Cell(text=f"{line(each.name)} {view.marks}".rstrip(), colour="bold"),
                line(each.agent),
                state_cell("gone" if each.gone_at else view.state, context.look),
                str(1 + resumed),
                age(each.created_at, at=now()),
                line(view.description),
            )
        )
    if not arguments.json:
        nothing = [f"no conversations yet; start one: {context.look.command('ask')} 'run `make test`'"]
        context.say(*(table(COLUMNS, rows, context.look) if rows else nothing))
    return 0


def _one(context: Context, arguments: Arguments) -> int:
    view = context.engine.get(arguments.id)
    if view.agent is None:
        raise BadValue(
            f"task {view.id} is a command, and only agents have a session; see errands logs {view.id}"
        )
    said = context.engine.sessions.conversation(view.id)
    runs = {run.number: run for run in view.history}
    for number, each in said:
        run = runs.get(number)
        if arguments.json:
            context.print_json(
                {
                    "run": number,
                    "state": run.state if run else None,
                    "prompt": each.text,
                    "answer": each.answer,
                    "error": each.error or (run.error if run else None),
                    "usage": dict(each.usage),
                }
            )
            continue
        answer = "\n\n".join(filter(None, (each.answer, _ending(run, each))))
        words = clean_text(context, view, f"> {each.text}\n\n{answer}")
        context.say(rule(f"run {number}", context.look), words.rstrip("\n"), "")
    if not arguments.json:
        hint = (
            f": {context.look.command('resume')} {view.id} '...'"
            if view.state == "completed"
            else f", {view.state}"
        )
        context.say(context.look.paint(f"{plural(len(said), 'prompt')}{hint}", "dim"))
    return 0


def _ending(run: RunView | None, said: Exchange) -> str:
    """Return why the answer is missing or incomplete."""
    if run is None:  # removed since
        return f"({line(said.error)})" if said.error else ""
    if run.state in LIVE:
        return "(no answer yet)"
    why = line(said.error or run.error or "")
    return "" if run.state == "completed" else f"({run.state}: {why})" if why else f"({run.state})"


VERBS = (
    Verb(
        name="sessions",
        summary="list the conversations with agents, or show one",
        run=sessions,
        options=(JSON_FIELDS,),
        operands=(operand("[ID]", "the task", completes="tasks"),),
        examples=(("errands sessions why-do-7k2", "what was asked and answered"),),
    ),
)
