"""notices: what has ended, or waits for a yes, since you last asked. Each notice is told once."""

from __future__ import annotations

from datetime import timedelta

from errands.frontends.cli.covering import Cover
from errands.frontends.cli.options import JSON, Option, Verb
from errands.frontends.cli.showing import ago, how_to_answer, now
from errands.frontends.cli.targets import answerable
from errands.model.duration import spoken
from errands.model.run import task_of
from errands.model.sanitise import line
from errands.text import Cell, Column, plural, state_cell, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.options import Arguments
    from errands.model.notice import Notice


COLUMNS = (*(Column(title="") for _ in range(4)), Column(title="", flex=1))


def notices(context: Context, arguments: Arguments) -> int:
    owner = arguments.owner or context.session
    engine = context.engine
    if arguments.undelivered:
        found = engine.store.undelivered()
    elif arguments.peek:
        found = engine.store.unread(owner)
    else:
        found = engine.take_notices(owner, reader="cli")
    if arguments.json:
        for notice in found:
            facts = _plain(notice)
            if arguments.peek:
                facts["state"] = "unread"
            context.tell_json(facts)
        return 0
    # Without titles: a notice is a sentence, only aligned with its neighbours.
    cover = Cover(context)
    _, *lines = table(COLUMNS, [_row(context, cover, notice) for notice in found], context.look)
    for notice, text in zip(found, lines, strict=True):
        context.say(text)
        if arguments.undelivered:
            tries = plural(notice.attempts, "attempt")
            context.say(f"    {notice.state} after {tries}: {line(notice.error or '')}")
    told = {task_of(notice.run_id)[0] for notice in found}
    waiting = [view.id for view in answerable(engine) if view.id in told] if found else []
    if waiting:
        context.say(context.look.paint(how_to_answer(waiting), "magenta"))
    if not found:
        context.say(
            "every notice was delivered"
            if arguments.undelivered
            else "nothing has happened since you last asked"
        )
    return 0


def _plain(notice: Notice) -> dict[str, Any]:
    return {
        "id": notice.id,
        "run_id": notice.run_id,
        "event": notice.event,
        "channel": notice.address.channel,
        "target": notice.address.target,
        "created_at": notice.created_at.isoformat().replace("+00:00", "Z"),
        "state": notice.state,
        "attempts": notice.attempts,
        "error": notice.error,
        "body": _body(notice),
    }


def _body(notice: Notice) -> Any:
    import json

    try:
        return json.loads(notice.body)
    except ValueError:
        return notice.body


def _row(context: Context, cover: Cover, notice: Notice) -> tuple[str | Cell, ...]:
    body, told = _body(notice), ago(notice.created_at, at=now())
    if not isinstance(body, dict) or "task" not in body:
        return Cell(text=notice.run_id, colour="bold"), line(notice.event), "", told, line(str(body))
    length = body.get("elapsed")
    more = body.get("summary") or body.get("error") or body.get("description") or ""
    return (
        Cell(text=str(body["task"]), colour="bold"),
        state_cell(str(body.get("state", notice.event)), context.look),
        "" if length is None else f"in {spoken(timedelta(seconds=length))}",
        told,
        line(cover.text(str(body["task"]), str(more))),
    )


VERBS = (
    Verb(
        name="notices",
        summary="tell what has ended, or waits for a yes, since you last asked; each is told once",
        run=notices,
        options=(
            Option(flags=("--peek",), help="show them and let them be told again"),
            Option(
                flags=("--owner",),
                metavar="SESSION",
                help="whose notices (default $ERRANDS_SESSION, or user)",
            ),
            Option(flags=("--undelivered",), help="those that could not be delivered, and why"),
            JSON,
        ),
    ),
)
