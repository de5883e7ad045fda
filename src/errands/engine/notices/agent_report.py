"""Telling: what became of tasks, as one message to the agent that started them.

Every notice is told, in a line that holds nothing a task has said; what it has to show follows while there is
room, fenced as data. The message says that nobody typed it, so that no agent takes it for a yes.
"""

from __future__ import annotations

import re
from typing import Any

from errands.engine.notices.chat_notices import mask_of
from errands.engine.notices.fence import fenced
from errands.model.errors import NotFound, StoreError
from errands.model.notices.delivery import NO_CONSENT, facts_of, headline, masked_body
from errands.model.record import evolve
from errands.model.text.sanitise import line, visible
from errands.model.text.summary import counts_only
from errands.text import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from errands.engine.engine import Engine
    from errands.model.notices.notice import Notice

ROOM = 16_000  # bytes of one message
MOST = 50  # notices in one message; the next one has the rest
_LEAST = 200  # bytes of a result that are worth the fence around them
_LINES = 400  # at the end of an output
_PHRASE = 100  # bytes of an error or a description: the lines of all notices have room
_TAG = re.compile(r"<(?=[/!?a-zA-Z])")


def deliver(engine: Engine, owner: str, *, reader: str, write: Callable[[str], None]) -> int:
    """Hand over what an owner was not told yet, as one message; give the number of notices in it.

    What could not be written was not told: it stays in the inbox.
    """
    with engine.store:
        found = engine.store.take_inbox(owner, reader=reader, now=engine.clock.now(), limit=MOST)
        if found:
            write(message(engine, found))
    return len(found)


def news(engine: Engine, owner: str, *, kept_back: bool = False) -> list[Notice]:
    """Give the notices that are worth a turn of their own; who launched a proposal knows that it is one.

    What somebody blocks for is kept back a moment, until they have it.
    """
    found = engine.store.inbox(owner, now=None if kept_back else engine.clock.now())
    return [each for each in found if not each.event.startswith("proposed")]


def message(engine: Engine, notices: Sequence[Notice]) -> str:
    """Write one message about some notices, bounded in size."""
    told_of = [_facts(engine, each) for each in notices]
    head = f"[Errands: news of {plural(len(told_of), 'background task')}. {NO_CONSENT}]"
    told = [_told(facts) for facts in told_of]
    results = [_result(engine, facts) for facts in told_of]
    count = sum(1 for each in results if each)
    share = (ROOM - sum(len(each.encode()) + 1 for each in (head, *told))) // count - _LEAST if count else 0
    lines = [head]
    for text, result, facts in zip(told, results, told_of, strict=True):
        lines.append(text)
        if result and share >= _LEAST:
            lines.append(_shown(str(facts["task"]), result, share))
    return "\n".join(lines).rstrip() + "\n"


def _facts(engine: Engine, notice: Notice) -> dict[str, Any]:
    """Read what a notice says, with secrets masked; the words of a model are set apart."""
    body = masked_body(facts_of(notice), mask_of(engine, notice.task_id))
    facts = facts_of(evolve(notice, body=body))
    if facts.get("error") and _is_agent(engine, str(facts["task"])):
        facts["complaint"] = facts.pop("error")
    return facts


def _is_agent(engine: Engine, task: str) -> bool:
    """Tell whether a task's error may be in the words of a model; of what was cleared nobody knows."""
    try:
        return engine.summaries([task])[0].agent is not None
    except (NotFound, StoreError):
        return True


def _told(facts: dict[str, Any]) -> str:
    """Say in one line what became of a task, in words of ours and of whoever launched it."""
    summary = str(facts.get("summary") or "")
    more = [facts.get("error"), summary if summary and counts_only(summary) else facts.get("description")]
    said = "; ".join(_beginning(_plain(line(str(each)))) for each in more if each)
    return f"- {_plain(headline(facts))}" + (f": {said}" if said else "")


def _result(engine: Engine, facts: dict[str, Any]) -> str:
    """Give what a task has to show: its answer, or the end of what it printed, with secrets masked."""
    if facts["state"] in ("proposed", "rejected", "skipped"):
        return ""
    task = str(facts["task"])
    try:
        mask = engine.mask(task)
        answer = facts.get("answer")
        tail = engine.tail(task, _LINES)
    except (NotFound, StoreError, OSError):
        return ""  # it was cleared meanwhile
    text = visible(str(answer) if answer else tail.content)
    is_all = answer or tail.next_offset <= len(tail.content)
    said = [str(facts.get("complaint") or ""), "" if is_all else _more(task).strip(), text.strip()]
    return _plain(mask.text("\n".join(filter(None, said))))


def _shown(task: str, result: str, room: int) -> str:
    end = result.encode()[-room:].decode("utf-8", "ignore")
    text = result if end == result else _more(task) + end
    return fenced(text, f"output of {task}").rstrip()


def _beginning(text: str) -> str:
    encoded = text.encode()
    return text if len(encoded) <= _PHRASE else encoded[: _PHRASE - 3].decode("utf-8", "ignore") + "…"


def _more(task: str) -> str:
    return f"[... more with: errands logs {task} ...]\n"


def _plain(text: str) -> str:
    """Keep a text from opening or closing anything in a frame made of tags, as some clients have them."""
    return _TAG.sub("&lt;", text)
