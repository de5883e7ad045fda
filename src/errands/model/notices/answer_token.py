"""A ballot: what a message that asks carries, so that an answer to it is an answer to that very question.

It stands in the message itself, which only we can write: whatever happens to us, the message knows what it
asks.
"""

from __future__ import annotations

from errands.model.record import record
from errands.model.text.naming import is_task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Answer = Literal["approve", "reject"]

PREFIX = "errands"
SIGNS: dict[str, Answer] = {"✅": "approve", "❌": "reject"}


@record
class AnswerToken:
    answer: Answer
    task_id: str
    question: int

    def __str__(self) -> str:
        return f"{PREFIX}:{self.answer}:{self.task_id}:{self.question}"


def read_answer_token(text: str) -> AnswerToken | None:
    """Read what `str` wrote; None if it is something else."""
    match text.split(":"):
        case [prefix, "approve" | "reject" as answer, task_id, number] if prefix == PREFIX:
            if is_task_id(task_id) and number.isdecimal() and number.isascii():
                return AnswerToken(answer=answer, task_id=task_id, question=int(number))
    return None
