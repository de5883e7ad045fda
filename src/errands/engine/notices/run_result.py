"""The result of a run, read for a notice: everything that reports an end to a conversation gets it here.

The answer of an agent is in the notice itself; what a command printed is read when the notice is shown or
sent, so that no run's end waits for a file. `model/notices/result.py` cuts both to the room of a message.
"""

from __future__ import annotations

from errands.model.errors import ErrandsError, printed
from errands.model.notices.delivery import facts_of, masked_body
from errands.model.notices.result import FIRST, LONGEST
from errands.model.record import evolve
from errands.model.run import task_of
from errands.model.text.mask import Mask
from errands.ports.output import CONTEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from errands.engine.core import EngineCore
    from errands.model.notices.delivery import Delivery
    from errands.model.notices.notice import Notice

_ENDED = ("completed", "failed", "cancelled")
_LINES = 1000  # at the end of an output


def shown(engine: EngineCore, delivery: Delivery) -> Delivery:
    """Return a delivery as people and agents see it: its result in it if it has room, no secrets."""

    def body(notice: Notice) -> str:
        facts = facts_of(notice)
        if not delivery.is_digest:
            facts = with_result(facts, lambda run_id: output_of(engine, run_id))
        return masked_body(facts, mask_of(engine, notice.task_id))

    return evolve(delivery, notices=tuple(evolve(each, body=body(each)) for each in delivery.notices))


def with_result(facts: dict[str, Any], output: Callable[[str], Mapping[str, str]]) -> dict[str, Any]:
    """Add to the facts of a notice what the run printed, unless it has an agent's answer."""
    if facts["state"] not in _ENDED or facts.get("answer"):
        return facts
    # The process of an agent also prints why it failed, which is the error of the notice.
    said = printed(facts.get("error"))
    found = {key: text.removesuffix(said) for key, text in output(str(facts["run"])).items()}
    return {**facts, **found}


def output_of(engine: EngineCore, run_id: str) -> dict[str, str]:
    """Read what a run printed: all of it, or its beginning and its end, masked where they are cut."""
    try:
        last = engine.tail(run_id, _LINES)
        if last.next_offset <= min(len(last.content), LONGEST):
            return {"result": last.content.decode("utf-8", "replace")}
        first = engine.output(run_id, limit=FIRST)
    except (ErrandsError, OSError):  # it printed nothing, or it was cleared meanwhile
        return {}
    mask = mask_of(engine, task_of(run_id)[0])
    ending = last.content[-(LONGEST - FIRST) :]
    ending = ending[ending.find(b"\n") + 1 :]
    before = (last.before + last.content)[: -len(ending) or None]
    return {
        "result": mask.text(first.content.decode("utf-8", "ignore"), after=_decoded(first.after)),
        "result_end": mask.text(_decoded(ending), before=_decoded(before[-CONTEXT:])),
    }


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def mask_of(engine: EngineCore, task_id: str) -> Mask:
    """Return the mask of a task's secrets; for a cleared task it hides well-known tokens only."""
    try:
        return engine.mask(task_id)
    except ErrandsError:
        return Mask({})
