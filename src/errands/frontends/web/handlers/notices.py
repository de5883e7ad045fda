"""Notices and channels: what you have not read, what was not delivered, and whether channels work."""

from __future__ import annotations

from typing import Any

from errands.config.channels import READY, kind_of
from errands.engine.notices.addresses import addresses
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call, Handler
from errands.frontends.web.handlers.rows import done
from errands.model.errors import BadValue, NotFound
from errands.model.notices.delivery import delivery_of, text, title
from errands.model.notices.notice import Notice
from errands.model.options.draft import Draft
from errands.model.text.mask import Mask
from errands.model.text.sanitise import line, visible
from errands.text import plural

_LONGEST = 2000  # bytes of what a notice says


def _notice(notice: Notice, state: str, why: str) -> dict[str, Any]:
    delivery = delivery_of([notice])
    said = f"{title(delivery)}\n{text(delivery, _LONGEST)}"
    return shaped(
        "Notice",
        notice,
        task=notice.task_id,
        run=notice.run_id,
        channel=line(notice.address.channel),
        target=line(notice.address.target),
        state=state,
        said={"text": Mask({}).text(visible(said)), "why": line(why)},
    )


def notices(call: Call) -> Answer:
    inbox = call.engine.notices
    unread = [each for each in inbox.unread(call.session_owner) if not inbox.is_answered(each)]
    return {
        "inbox": [_notice(each, "unread", "") for each in unread],
        "undelivered": [_notice(each, each.state, each.error or "") for each in inbox.undelivered()],
    }


def retry_notices(call: Call) -> Answer:
    inbox, ids = call.engine.notices, call.body["ids"]
    waiting = [each for each in inbox.undelivered() if each.state == "waiting"]
    known = {each.id: each for each in [*inbox.undelivered(given_up=True), *waiting]}
    if ids is not None and (missing := next((each for each in ids if each not in known), None)):
        raise NotFound(f"there is no undelivered notice {missing}")
    chosen = list(known.values()) if ids is None else [known[each] for each in ids]
    again = inbox.retry(chosen, everything=ids is None)
    return done(f"{plural(len(again), 'notice')} will be sent again")


def channels(call: Call) -> Answer:
    config, inbox = call.engine.config, call.engine.notices
    undelivered = inbox.undelivered()
    found = []
    for name in dict.fromkeys([*config.channels, *READY]):
        settings = config.channels.get(name, {})
        targets = settings.get("targets")
        target = ", ".join(targets) if isinstance(targets, dict) else str(settings.get("target", ""))
        trouble = call.services.channel_trouble(name, config)
        mine = [each for each in undelivered if each.address.channel == name]
        last = next((each.error for each in reversed(mine) if each.error), "")
        found.append(
            {
                "name": line(name),
                "kind": line(kind_of(name, config.channels)),
                "target": line(target) or None,
                "ready": not trouble,
                "waiting": sum(each.state == "waiting" for each in mine),
                "dead": sum(each.state != "waiting" for each in mine),
                "said": {"health": line(trouble or last or "ready")},
            }
        )
    return {"channels": found}


def try_channel(call: Call) -> Answer:
    name, config = call.values["name"], call.engine.config
    draft = Draft(command="true", channels=(name,))
    found = addresses(draft, call.services.environ, config, call.session_owner)
    address = next((each for each in found if each.channel != "inbox"), None)
    if address is None:
        raise BadValue(f"{name} is an inbox, which needs no test; this page shows what is in it")
    call.services.send_trial(address, config)
    return done(f"sent a message to {line(str(address))}")


HANDLERS: dict[str, Handler] = {
    "notices": notices,
    "retry-notices": retry_notices,
    "channels": channels,
    "try-channel": try_channel,
}
