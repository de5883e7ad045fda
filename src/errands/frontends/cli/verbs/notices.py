"""notices: what has ended, or waits for a yes, since you last asked. Each notice is told once.

What other channels did not take is listed here too, and sent again when asked.
"""

from __future__ import annotations

from datetime import timedelta

from errands.frontends.cli.display.format import ago, how_to_answer, now
from errands.frontends.cli.display.masking import TextMask
from errands.frontends.cli.parser import JSON, Operand, Option, Usage, Verb
from errands.frontends.cli.targets import answerable
from errands.model.errors import NotFound
from errands.model.run import task_of
from errands.model.text.duration import spoken
from errands.model.text.sanitise import line
from errands.text import Cell, Column, plural, state_cell, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.notices.notice import Notice


COLUMNS = (*(Column(title="") for _ in range(4)), Column(title="", flex=1))


def notices(context: Context, arguments: Arguments) -> int:
    if arguments.action == "retry" or arguments.all or arguments.ids:
        return _retry(context, arguments)
    owner = arguments.owner or context.session
    engine = context.engine
    if arguments.undelivered or arguments.dead:
        found = engine.notices.undelivered(given_up=arguments.dead)
    elif arguments.peek:
        found = engine.notices.unread(owner)
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
    cover = TextMask(context)
    _, *lines = table(COLUMNS, [_row(context, cover, notice) for notice in found], context.look)
    reasons = _reasons(found)
    for notice, text in zip(found, lines, strict=True):
        context.say(text)
        if arguments.undelivered or arguments.dead:
            tries = plural(notice.attempts, "attempt")
            where = f"{notice.id} to {line(str(notice.address))}"
            context.say(f"    {where}: {notice.state} after {tries}: {line(reasons[notice.id])}")
    told = {task_of(notice.run_id)[0] for notice in found}
    waiting = [view.id for view in answerable(engine) if view.id in told] if found else []
    if waiting:
        context.say(context.look.paint(how_to_answer(waiting), "magenta"))
    if not found:
        context.say(_nothing(arguments))
    elif arguments.dead:
        context.say(context.look.paint("errands notices retry ID, or --all, sends them again", "dim"))
    return 0


def _nothing(arguments: Arguments) -> str:
    if arguments.dead:
        return "no notice was given up"
    if arguments.undelivered:
        return "every notice was delivered"
    return "nothing has happened since you last asked"


def _reasons(found: list[Notice]) -> dict[int, str]:
    """Say why each is still here; one that was not tried yet waits for those before it."""
    reasons: dict[int, str] = {}
    addresses = set()
    for notice in found:
        untried = "it waits behind another one" if notice.address in addresses else "it is about to be sent"
        reasons[notice.id] = notice.error or untried
        if notice.state == "waiting":
            addresses.add(notice.address)
    return reasons


def _retry(context: Context, arguments: Arguments) -> int:
    """Queue what was given up once more, and send what waits for its next try now."""
    if arguments.action != "retry" or bool(arguments.ids) == arguments.all:
        raise Usage("say which to send again: errands notices retry ID..., or errands notices retry --all")
    inbox = context.engine.notices
    waiting = [notice for notice in inbox.undelivered() if notice.state == "waiting"]
    known = [*inbox.undelivered(given_up=True), *waiting]
    meant = (
        known if arguments.all else [each for word in arguments.ids for each in _meant(context, word, known)]
    )
    again = inbox.retry(meant, everything=arguments.all)
    if arguments.json:
        for each in again:
            context.tell_json({"id": each, "state": "waiting"})
    elif again:
        context.say(f"{plural(len(again), 'notice')} will be sent again")
    else:
        context.say("what waits is about to be sent" if meant else "every notice was delivered")
    return 0


def _meant(context: Context, word: str, known: list[Notice]) -> list[Notice]:
    """Find a notice by its number, or those of a task."""
    if word.isdecimal() and word.isascii():
        found = [notice for notice in known if notice.id == int(word)]
    else:
        try:
            task_id = context.engine.resolve(word)
        except NotFound:
            raise Usage(
                f"{word!r} is no task, and no number of a notice, as errands notices --undelivered shows them"
            ) from None
        found = [notice for notice in known if notice.task_id == task_id]
    if not found:
        raise NotFound(f"{word}: nothing of it is to be sent; errands notices --undelivered lists what is")
    return found


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


def _row(context: Context, cover: TextMask, notice: Notice) -> tuple[str | Cell, ...]:
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
        operands=(
            Operand(
                metavar="ACTION",
                help="send now what was given up or waits for its next try",
                optional=True,
                choices=("retry",),
            ),
            Operand(
                metavar="IDS",
                help="which: numbers of notices, or tasks",
                optional=True,
                repeat=True,
                completes="given up",
            ),
        ),
        usage=("notices [options]", "notices retry ID...|--all"),
        options=(
            Option(flags=("--peek",), help="show them and let them be told again"),
            Option(
                flags=("--owner",),
                metavar="SESSION",
                help="whose notices (default $ERRANDS_SESSION, or user)",
            ),
            Option(flags=("--undelivered",), help="those that other channels have not taken yet, and why"),
            Option(
                flags=("--dead",),
                help="those that were given up, or may have been lost",
            ),
            Option(flags=("--all",), help="with retry: all that are undelivered"),
            JSON,
        ),
    ),
)
