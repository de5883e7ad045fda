"""The spans of a task and of everything in its trace, read from the store."""

from __future__ import annotations

from errands.engine.actor import LAUNCHED
from errands.model.errors import NotFound
from errands.model.record import evolve
from errands.model.run import task_of
from errands.model.span import caller, spans_of
from errands.model.text.ids import EXECUTE, START, span_id
from errands.text import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from errands.model.span import Span
    from errands.model.text.mask import Mask
    from errands.model.view import View
    from errands.ports.store import Store
    from errands.ports.store.retention import Traced


LONGEST = 4096  # characters of one text in a span; collectors refuse or cut what is much longer


def _ids(run_id: str, created_at: datetime) -> tuple[str, ...]:
    return tuple(span_id(run_id, created_at, name) for name in (EXECUTE, START))


def _shown(span: Span, mask: Mask) -> Span:
    """Mask and bound every text of a span: names and errors may be the words of a model or a program."""

    def text(value: str) -> str:
        return clip(mask.text(value), LONGEST)

    facts = {
        name: text(each) if isinstance(each, str) and name != "task.id" else each
        for name, each in span.attributes.items()
    }
    error = None if span.error is None else text(span.error)
    return evolve(span, name=text(span.name), attributes=facts, error=error)


class Tracing:
    """Used by the command line and by the exporter."""

    def __init__(self, store: Store, get: Callable[[str], View]) -> None:
        self._store = store
        self._get = get

    def tree(self, task_id: str) -> list[Span]:
        """List the spans of the whole tree that a task is in, from its root."""
        root = self._get(task_id)
        seen = {root.id}
        while (parent := self._parent(root)) is not None and parent.id not in seen:
            root = parent
            seen.add(root.id)
        return self._down(root, set())

    def find(self, span: str) -> str:
        """Return the task whose run has a span; a prefix is enough."""
        wanted = span.lower().strip()
        if wanted and (run_id := self._store.run_with_span(wanted, _ids)):
            return task_of(run_id)[0]
        raise NotFound(f"unknown span {span!r}; `errands show` and `errands trace` list the spans of a task")

    def spans(self, run_id: str) -> list[Span]:
        """List the spans of one run; none when it is gone."""
        task_id, number = task_of(run_id)
        try:
            return self._of(self._get(task_id), only=number)
        except NotFound:
            return []  # cleared since

    def traced(self, *, after: int, among: Sequence[int], limit: int) -> list[Traced]:
        return self._store.traced(after=after, among=among, limit=limit)

    def last_place(self, *, by: datetime | None = None) -> int:
        return self._store.last_place(by=by)

    def live_places(self) -> list[int]:
        return self._store.live_places()

    def _down(self, view: View, seen: set[str]) -> list[Span]:
        seen.add(view.id)
        spans = self._of(view)
        for run in view.history:
            for child in self._store.launched_by(run.id):
                if child not in seen:
                    spans += self._down(self._get(child), seen)
        return spans

    def _of(self, view: View, *, only: int | None = None) -> list[Span]:
        from errands.model.text.mask import Mask

        action = self._store.task(view.id).action
        environ = {**self._store.environment(action.environment), **action.env}
        mask = Mask(environ)
        spans = spans_of(view, self._store.events(view.id), caller(environ), only=only)
        return [_shown(each, mask) for each in spans]

    def _parent(self, view: View) -> View | None:
        """Return the task whose run submitted this one, if it still exists."""
        if not view.created_by.startswith(LAUNCHED):
            return None
        try:
            return self._get(task_of(view.created_by.removeprefix(LAUNCHED))[0])
        except NotFound:
            return None
