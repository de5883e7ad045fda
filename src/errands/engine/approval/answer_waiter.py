"""Wait for the answer to a question, wherever it is given."""

from __future__ import annotations

from errands.engine.bell_line import BellLine
from errands.engine.waiting import LOOK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.engine import Engine
    from errands.model.approval import Approval


async def wait_for_answer(engine: Engine, question: Approval) -> None:
    """Wait until a question needs no answer any more: it has one, or its task is gone."""
    async with BellLine(engine, (question.task_id,)) as line:
        while (found := engine.question(question.task_id)) is not None and found.id == question.id:
            await line.news(LOOK)
