"""A kept schedule: a recurring task that another home of the fleet keeps, because it never sleeps.

There it is an ordinary task, placed like any other. Its owner here gets its notices.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

from errands.engine.approval.approve import refuse_inside_a_run
from errands.engine.approval.ruling import denied
from errands.engine.fleet import member
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Usage
from errands.model.errors import BadValue, IllegalMove
from errands.model.options.template import to_text
from errands.model.record import evolve
from errands.model.text.sanitise import line

if TYPE_CHECKING:
    from errands.model.options.draft import Draft
    from errands.ports.fleet import Fleet, Reply

PATIENCE = 15.0  # seconds in which a host that is up answers


def keep_on(context: Context, arguments: Arguments, draft: Draft) -> int:
    """Have a host keep a schedule, and print the id that it has there."""
    if draft.every is None and draft.cron is None:
        raise Usage("--keep-on is for schedules; add --every or --cron, or leave it out")
    for name, flag in (("after", "--after"), ("hold", "--hold"), ("key", "--key"), ("fork", "--fork")):
        if getattr(draft, name):
            raise Usage(f"--keep-on does not work together with {flag}; leave out one of them")
    if getattr(arguments, "wait", False):
        raise Usage("a schedule has no end to wait for; leave out --wait")
    host = arguments.keep_on
    draft = evolve(draft, host=draft.host or host)
    me = member.require(context.home)
    _check(context, draft)
    body = {
        "draft": to_text(evolve(draft, cwd=None)),
        "cwd": draft.cwd or os.getcwd(),
        "cwd_is_named": draft.cwd is not None,
        "consent": draft.consent,
        "owner": draft.owner or context.session or "user",
    }
    reply = asyncio.run(_hand_over(context, host, me.name, body))
    if arguments.json:
        context.print_json({"id": reply.result, "home": host, "host": draft.host})
    elif arguments.quiet:
        context.say(reply.result)
    else:
        context.say(
            f"{context.look.paint(reply.result, 'bold')} is kept by {line(host)}, which runs it from now on"
        )
        context.say(f"once it has run: errands show {reply.result}, errands cancel {reply.result}")
    return 0


def _check(context: Context, draft: Draft) -> None:
    """Refuse what this home would not submit itself."""
    if draft.consent != "none":
        refuse_inside_a_run(context.engine)
    judgement = context.engine.judge(draft)
    if judgement.verdict == "deny":
        raise denied(judgement)


async def _hand_over(context: Context, host: str, author: str, body: dict[str, Any]) -> Reply:
    async with member.opened(context.home, context.bootstrap.open_fleet) as fleet:
        home = await _home_of(fleet, host)
        number = await fleet.request(home, "", "keep", author=author, token=os.urandom(8).hex(), body=body)
        limit = time.monotonic() + PATIENCE
        while (reply := await fleet.reply_to(number)) is None:
            if time.monotonic() > limit:
                raise IllegalMove(
                    f"the host {host} has not answered in {PATIENCE:g} s; once it does, it keeps the "
                    "schedule: check with errands ls there"
                )
            await asyncio.sleep(0.1)
        if reply.refusal:
            raise BadValue(f"{host} refused: {reply.refusal}")
        return reply


async def _home_of(fleet: Fleet, name: str) -> str:
    up = [host for host in await fleet.hosts() if host.state != "gone"]
    for host in up:
        if host.name == name:
            return host.id
    known = ", ".join(host.name for host in up)
    raise BadValue(f"no host of the fleet is named {name!r}; choose one of: {known or 'none'}")
