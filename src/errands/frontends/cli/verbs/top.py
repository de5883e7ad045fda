"""top: watch all tasks on a whole screen, and act on them."""

from __future__ import annotations

from datetime import datetime

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Verb
from errands.model.view import RunView, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.text import Look


def top(context: Context, arguments: Arguments) -> int:
    import gc

    gc.enable()  # it runs for long
    return context.bootstrap.run_top(context.engine, words=ViewerWords(context), look=context.look)


class ViewerWords:
    """The texts of the command line, for the viewer."""

    def __init__(self, context: Context) -> None:
        from errands.engine.text_mask import TextMask

        self._context = context
        self._mask = TextMask(context.engine, context.environ)

    def state(self, view: View) -> str:
        from errands.text.describe import state_word

        return state_word(view)

    def detail(self, view: View, look: Look, *, at: datetime) -> str:
        from errands.text.describe import outcome

        return self._mask.text(view.id, outcome(view, look, at=at))

    def purpose(self, view: View) -> str:
        from errands.model.text.sanitise import line
        from errands.text.describe import purpose

        return line(self._mask.text(view.id, purpose(view)))

    def result(self, run: RunView, task_id: str) -> str:
        from errands.text.describe import result

        return self._mask.text(task_id, result(run))

    def age(self, moment: datetime, *, at: datetime) -> str:
        from errands.text.describe import age

        return age(moment, at=at)

    def took(self, run: RunView, *, at: datetime) -> str:
        from errands.text.describe import took_text

        return took_text(run, at=at)

    def question(self, view: View, look: Look) -> Sequence[str]:
        from errands.engine.approval.question_facts import facts_of
        from errands.text.question import question

        return question(facts_of(self._context.engine, self._context.environ, view), look)

    def trace(self, task_id: str, look: Look, *, at: datetime) -> Sequence[str]:
        from errands.frontends.cli.verbs.trace import draw_tree

        return list(draw_tree(self._context.engine.tracing.tree(task_id), look, at=at))


VERBS = (
    Verb(
        name="top",
        summary="watch all tasks on a whole screen, and act on them",
        run=top,
        details="What waits for you, what runs, what has failed and what comes next, live; with keys to "
        "open, cancel, restart, resume, pause and approve. The key ? lists them. It needs the extra tui: "
        "pip install 'errands[tui]'. See docs/how-to/top.md.",
        examples=(("errands top", ""),),
    ),
)
