"""notices: what has ended since you last asked. Each notice is told once."""

from __future__ import annotations

from errands.frontends.cli.options import JSON, Option, Verb
from errands.frontends.cli.showing import ago, now
from errands.model.duration import spoken
from errands.model.sanitise import line
from errands.text import plural, state_cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.options import Arguments
    from errands.model.notice import Notice


def notices(context: Context, arguments: Arguments) -> int:
    owner = arguments.owner or context.environ.get("ERRANDS_SESSION") or "user"
    engine = context.engine
    if arguments.undelivered:
        found = engine.store.undelivered()
    elif arguments.peek:
        found = engine.store.unread(owner)
    else:
        found = engine.take_notices(owner, reader="cli")
    for notice in found:
        if arguments.json:
            context.tell_json(_plain(notice))
        else:
            context.say(_line(context, notice))
            if arguments.undelivered:
                tries = plural(notice.attempts, "attempt")
                context.say(f"    {notice.state} after {tries}: {line(notice.error or '')}")
    if not found and not arguments.json:
        context.say(
            "every notice was delivered"
            if arguments.undelivered
            else "nothing has ended since you last asked"
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


def _line(context: Context, notice: Notice) -> str:
    body, look = _body(notice), context.look
    if not isinstance(body, dict) or "task" not in body:
        return f"{notice.run_id}  {line(notice.event)}  {line(str(body))}"
    state = state_cell(str(body.get("state", notice.event)), look)
    words = [f"{look.paint(str(body['task']), 'bold')}  {look.paint(state.text, state.colour)}"]
    if body.get("elapsed") is not None:
        from datetime import timedelta

        words.append(f"in {spoken(timedelta(seconds=body['elapsed']))}")
    more = body.get("summary") or body.get("error") or body.get("description") or ""
    tail = [ago(notice.created_at, at=now()), line(str(more))]
    return " · ".join([" ".join(words), *filter(None, tail)])


VERBS = (
    Verb(
        name="notices",
        summary="tell what has ended since you last asked; each ending is told once",
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
