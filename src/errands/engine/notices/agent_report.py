"""The report to an agent: what became of the tasks it started, as one message.

Every notice has a line, free of anything the task printed; its output follows while there is room, fenced as
data. The message says that a program wrote it, so that no agent mistakes it for consent.
"""

from __future__ import annotations

import re
from typing import Any

from errands.engine.notices.inbox import is_answered
from errands.engine.notices.run_result import mask_of, output_of, with_result
from errands.model.errors import NotFound, StoreError
from errands.model.notices.delivery import NO_CONSENT, facts_of, headline, masked_body
from errands.model.notices.result import result
from errands.model.record import evolve
from errands.model.states import ENDED, OPEN
from errands.model.text.sanitise import line, visible
from errands.model.text.summary import counts_only
from errands.ports.store import Query
from errands.text import fenced, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from errands.engine.engine import Engine
    from errands.model.notices.notice import Notice

ROOM = 16_000  # bytes of one message
MOST = 50  # notices in one message; the next one has the rest
_LEAST = 200  # bytes of a result that are worth the fence around them
_PHRASE = 100  # bytes of an error or a description: the lines of all notices have room
_OUTSIDE = ("complaint", "answer", "result", "result_end")  # facts in the words of a task
_TAG = re.compile(r"<(?=[/!?a-zA-Z])")


def deliver(engine: Engine, owner: str, *, reader: str, write: Callable[[str], None]) -> int:
    """Write an owner's unread notices as one message, and return how many there were.

    A question that was answered meanwhile is left out; if nothing is left, nothing is written. If `write`
    raises, all of them stay in the inbox.
    """
    engine.sessions.see_session(owner)
    with engine.store:
        found = engine.store.take_inbox(owner, reader=reader, now=engine.clock.now(), limit=MOST)
        if told := [each for each in found if not is_answered(engine.store, each)]:
            write(message(engine, told))
    engine.bell.announce({each.task_id for each in found})
    return len(found)


def deliver_missed(engine: Engine, session: str, *, write: Callable[[str], None]) -> None:
    """Write, once for each, how tasks ended that a session started but that belong to another owner.

    That is usually the person, because the session could not be notified; their inbox stays as it is.
    """
    ended = engine.list(Query(parent=session, states=ENDED, limit=MOST))
    missed = [each for each in ended if each.owner != session and each.latest.retrieved_at is None]
    reports = {
        notice.task_id: notice  # the last one says how it ended
        for owner in {each.owner for each in missed}
        for notice in engine.notices.after(owner, 0)
    }
    told = [each for each in missed[::-1] if each.id in reports]
    if told:
        write(message(engine, [reports[each.id] for each in told]))
    for each in told:
        engine.mark_retrieved(each)


def news(engine: Engine, owner: str, *, kept_back: bool = False) -> list[Notice]:
    """Return the notices worth a turn of their own: a caller knows already what it proposed.

    A notice is kept back for a moment while a caller blocks for its task, and listed only with `kept_back`.
    """
    found = engine.store.inbox(owner, now=None if kept_back else engine.clock.now())
    return [each for each in found if not each.event.startswith("proposed")]


def may_have_news(engine: Engine, owner: str) -> bool:
    """Return whether an owner has tasks that can end, now or whenever a schedule starts one."""
    return bool(engine.list(Query(owner=owner, states=(*OPEN, "active"), limit=1)))


def message(engine: Engine, notices: Sequence[Notice]) -> str:
    """Write one message about some notices, bounded in size."""
    known = [_facts(engine, each) for each in notices]
    head = f"[Errands: news of {plural(len(known), 'background task')}. {NO_CONSENT}]"
    headlines = [_headline(facts) for facts in known]
    count = sum(1 for facts in known if _result(facts, ROOM))
    left = ROOM - sum(len(each.encode()) + 1 for each in (head, *headlines))
    share = left // count - _LEAST if count else 0
    lines = [head]
    for text, facts in zip(headlines, known, strict=True):
        lines.append(text)
        if share >= _LEAST and (said := _result(facts, share)):
            what = "answer" if facts.get("answer") else "output"  # as the tools call it
            lines.append(fenced(said, f"{what} of {facts['task']}").rstrip())
    return "\n".join(lines).rstrip() + "\n"


def _facts(engine: Engine, notice: Notice) -> dict[str, Any]:
    """Read a notice with its secrets masked; an error in a model's words becomes its `complaint`."""
    facts = with_result(facts_of(notice), lambda run_id: output_of(engine, run_id))
    body = masked_body(facts, mask_of(engine, notice.task_id))
    facts = facts_of(evolve(notice, body=body))
    if facts.get("error") and _is_agent(engine, str(facts["task"])):
        facts["complaint"] = facts.pop("error")
    # Before it is cut, because this makes it longer.
    return facts | {key: _plain(visible(str(facts[key]))) for key in _OUTSIDE if facts.get(key)}


def _is_agent(engine: Engine, task: str) -> bool:
    """Return whether a task's error may be in a model's words; assume so for a task that was cleared."""
    try:
        return engine.summaries([task])[0].agent is not None
    except (NotFound, StoreError):
        return True


def _headline(facts: dict[str, Any]) -> str:
    """Say in one line what became of a task, in our words and its caller's."""
    summary = str(facts.get("summary") or "")
    more = [facts.get("error"), summary if summary and counts_only(summary) else facts.get("description")]
    said = "; ".join(_beginning(_plain(line(str(each)))) for each in more if each)
    return f"- {_plain(headline(facts))}" + (f": {said}" if said else "")


def _result(facts: dict[str, Any], room: int) -> str:
    """Return what an agent complained of, and its answer or a task's output."""
    complaint = str(facts.get("complaint") or "")
    said = result(facts, room - len(complaint.encode()))
    return "\n".join(filter(None, (complaint, said)))


def _beginning(text: str) -> str:
    encoded = text.encode()
    return text if len(encoded) <= _PHRASE else encoded[: _PHRASE - 3].decode("utf-8", "ignore") + "…"


def _plain(text: str) -> str:
    """Keep a text from opening or closing a tag, because some clients frame messages with tags."""
    return _TAG.sub("&lt;", text)
