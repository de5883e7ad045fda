"""The handlers of the operations of the table, by name."""

from __future__ import annotations

from errands.frontends.web.call import Handler
from errands.frontends.web.handlers import (
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

HANDLERS: dict[str, Handler] = {
    **tasks.HANDLERS,
    **output.HANDLERS,
    **conversation.HANDLERS,
    **questions.HANDLERS,
    **submit.HANDLERS,
    **views.HANDLERS,
    **schedules.HANDLERS,
    **notices.HANDLERS,
    **installation.HANDLERS,
}
