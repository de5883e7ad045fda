"""Telling: what became of tasks, as one message to the agent that started them.

Every notice is told, in a line; what the tasks have to show follows while there is room, fenced as data. The
message says that nobody typed it, so that no agent takes it for a yes.
"""

from __future__ import annotations

import re
from typing import Any

from errands.engine.fencing import fenced
from errands.model.errors import NotFound, StoreError
from errands.model.letter import NO_CONSENT, facts_of, headline
from errands.model.sanitise import line, visible
from errands.text import clip, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from errands.engine.engine import Engine
    from errands.model.notice import Notice

ROOM = 16_000  # characters of one message
MOST = 50  # notices in one message; the next one has the rest
_LEAST = 200  # characters of a result that are worth the fence around them
_LINES = 400  # at the end of an output
_PHRASE = 120
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


def news(engine: Engine, owner: str) -> list[Notice]:
    """Give the notices that are worth a turn of their own; who launched a proposal knows that it is one."""
    return [each for each in engine.store.unread(owner) if not each.event.startswith("proposed")]


def message(engine: Engine, notices: Sequence[Notice]) -> str:
    """Write one message about some notices, bounded in size."""
    told_of = [facts_of(each) for each in notices]
    head = f"[Errands: news of {plural(len(told_of), 'background task')}. {NO_CONSENT}]"
    told = [_told(facts) for facts in told_of]
    results = [_result(engine, facts) for facts in told_of]
    count = sum(1 for each in results if each)
    share = (ROOM - len(head) - sum(map(len, told))) // count - _LEAST if count else 0
    lines = [head]
    for text, result, facts in zip(told, results, told_of, strict=True):
        lines.append(text)
        if result and share >= _LEAST:
            lines.append(_shown(str(facts["task"]), result, share))
    return "\n".join(lines).rstrip() + "\n"


def _told(facts: dict[str, Any]) -> str:
    """Say in one line what became of a task."""
    more = [facts.get("error"), facts.get("summary") or facts.get("description")]
    said = "; ".join(clip(_plain(line(str(each))), _PHRASE) for each in more if each)
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
    text = _plain(mask.text(visible(str(answer) if answer else tail.content))).strip()
    return text if answer or tail.next_offset <= len(tail.content) else f"{_more(task)}{text}"


def _shown(task: str, result: str, room: int) -> str:
    text = result if len(result) <= room else _more(task) + result[-room:]
    return fenced(text, f"output of {task}").rstrip()


def _more(task: str) -> str:
    return f"[... more with: errands logs {task} ...]\n"


def _plain(text: str) -> str:
    """Keep a text from opening or closing anything in a frame made of tags, as some clients have them."""
    return _TAG.sub("&lt;", text)
