"""notices: what ended or needs approval since you last looked, each once; and undelivered notices."""

from __future__ import annotations

from datetime import timedelta

from errands.engine.text_mask import TextMask
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, operand, option
from errands.model.errors import NotFound
from errands.model.text.duration import spoken
from errands.model.text.sanitise import line
from errands.model.view import plain_fields
from errands.text import Cell, Column, plural, state_cell, table
from errands.text.describe import age, how_to_answer, id_cell, now, short_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.model.notices.notice import Notice


COLUMNS = (
    Column(title="", flex=2, least=14),
    Column(title=""),
    Column(title="", drop=1),
    Column(title="", drop=2),
    Column(title="", flex=1, least=12),
)


FIELDS = (
    "id", "run_id", "event", "channel", "target", "created_at", "state", "attempts", "error", "body",
)  # fmt: skip


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
    if not (arguments.undelivered or arguments.dead):
        # A question that was answered meanwhile asks for nothing any more.
        found = [notice for notice in found if not engine.notices.is_answered(notice)]
    if arguments.json:
        for notice in found:
            facts = _plain(notice)
            if arguments.peek:
                facts["state"] = "unread"
            context.print_json(facts)
        return 0
    # No titles: a notice reads as a sentence, only aligned with the others.
    cover = TextMask(context.engine, context.environ)
    _, *lines = table(COLUMNS, [_row(context, cover, notice) for notice in found], context.look)
    reasons = _reasons(found)
    for notice, text in zip(found, lines, strict=True):
        context.say(text)
        if arguments.undelivered or arguments.dead:
            tries = f" after {plural(notice.attempts, 'attempt')}" if notice.attempts else ""
            where = f"{notice.id} to {line(str(notice.address))}"
            context.say(f"    {where}: {notice.state}{tries}: {line(reasons[notice.id])}")
    tasks = {notice.task_id for notice in found}  # what a watch reports is about no run
    waiting = [view.id for view in engine.answerable() if view.id in tasks] if found else []
    if waiting:
        context.say(context.look.paint(how_to_answer(waiting, context.look), "magenta"))
    if not found:
        context.say(_nothing(arguments))
    elif arguments.dead:
        context.say(context.look.paint("send them again: errands notices retry ID, or --all", "dim"))
    return 0


def _nothing(arguments: Arguments) -> str:
    if arguments.dead:
        return "no notices were given up"
    if arguments.undelivered:
        return "every notice was delivered"
    return "nothing new since you last looked"


def _reasons(found: list[Notice]) -> dict[int, str]:
    """Return why each notice is undelivered; one that was not tried yet waits for those before it."""
    reasons: dict[int, str] = {}
    addresses = set()
    for notice in found:
        untried = "queued behind another one" if notice.address in addresses else "about to be sent"
        reasons[notice.id] = notice.error or untried
        if notice.state == "waiting":
            addresses.add(notice.address)
    return reasons


def _retry(context: Context, arguments: Arguments) -> int:
    """Queue given-up notices again, and send those that wait for their next attempt now."""
    if arguments.action != "retry":
        raise Usage("--all needs retry; errands ls --all lists everything that ended")
    if bool(arguments.ids) == arguments.all:
        raise Usage("name the notices: errands notices retry ID..., or errands notices retry --all")
    inbox = context.engine.notices
    waiting = [notice for notice in inbox.undelivered() if notice.state == "waiting"]
    known = [*inbox.undelivered(given_up=True), *waiting]
    chosen = (
        known if arguments.all else [each for word in arguments.ids for each in _found(context, word, known)]
    )
    again = inbox.retry(chosen, everything=arguments.all)
    if arguments.json:
        for each in again:
            context.print_json({"id": each, "state": "waiting"})
    elif again:
        context.say(f"{plural(len(again), 'notice')} will be sent again")
    else:
        context.say("the waiting notices are about to be sent" if chosen else "every notice was delivered")
    return 0


def _found(context: Context, word: str, known: list[Notice]) -> list[Notice]:
    """Find a notice by its number, or those of a task."""
    if word.isdecimal() and word.isascii():
        found = [notice for notice in known if notice.id == int(word)]
    else:
        try:
            task_id = context.engine.resolve(word)
        except NotFound:
            raise Usage(
                f"{word!r} is neither a task nor the number of a notice; see errands notices --undelivered"
            ) from None
        found = [notice for notice in known if notice.task_id == task_id]
    if not found:
        raise NotFound(f"{word} has no undelivered notices; see errands notices --undelivered")
    return found


def _plain(notice: Notice) -> dict[str, Any]:
    return {
        "id": notice.id,
        "run_id": notice.run_id,
        "event": notice.event,
        "channel": notice.address.channel,
        "target": notice.address.target,
        **plain_fields(notice, ("created_at", "state", "attempts", "error")),
        "body": _body(notice),
    }


def _body(notice: Notice) -> Any:
    import json

    try:
        return json.loads(notice.body)
    except ValueError:
        return notice.body


def _row(context: Context, cover: TextMask, notice: Notice) -> tuple[str | Cell, ...]:
    body, when = _body(notice), age(notice.created_at, at=now())
    if not isinstance(body, dict) or "task" not in body:
        return Cell(text=notice.run_id, colour="bold"), line(notice.event), "", when, line(str(body))
    length = body.get("elapsed")
    # What a cancelled task printed last is not why it ended.
    said = None if body.get("state") == "cancelled" else body.get("summary")
    more = said or short_error(str(body.get("error") or "")) or body.get("description") or ""
    return (
        id_cell(str(body["task"]), context.look, means=context.engine.means),
        state_cell(str(body.get("state", notice.event)), context.look),
        "" if length is None else f"in {spoken(timedelta(seconds=length))}",
        when,
        line(cover.text(str(body["task"]), str(more))),
    )


VERBS = (
    Verb(
        name="notices",
        summary="show what ended or needs approval since you last looked; each notice is shown once",
        run=notices,
        fields=FIELDS,
        operands=(
            operand("[ACTION]", "retry: send undelivered notices again, now", choices=("retry",)),
            operand("[IDS...]", "numbers of notices, or tasks", completes="given up"),
        ),
        usage=("notices [options]", "notices retry ID...|--all"),
        options=(
            option("--peek", "show them without marking them as read"),
            option("--owner SESSION", "whose notices (default $ERRANDS_SESSION, or user)"),
            option("--undelivered", "notices that other channels did not accept yet, and why"),
            option("--dead", "notices that were given up, or may have been lost"),
            option("--all", "with retry: every undelivered notice"),
            JSON_FIELDS,
        ),
    ),
)
