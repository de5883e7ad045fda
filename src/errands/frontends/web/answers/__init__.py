"""The answers to the operations of the table, by name."""

from __future__ import annotations

from errands.frontends.web.answers import (
    conversation,
    installation,
    notices,
    output,
    questions,
    schedules,
    submit,
    tasks,
    views,
)
from errands.frontends.web.call import Handler

ANSWERS: dict[str, Handler] = {
    **tasks.ANSWERS,
    **output.ANSWERS,
    **conversation.ANSWERS,
    **questions.ANSWERS,
    **submit.ANSWERS,
    **views.ANSWERS,
    **schedules.ANSWERS,
    **notices.ANSWERS,
    **installation.ANSWERS,
}
