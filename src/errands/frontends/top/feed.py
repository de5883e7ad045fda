"""The feed: what the views show, read through the engine, and kept until the engine says that it changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from errands.engine.engine import Engine
from errands.frontends.top.task.log_text import LogText
from errands.model.errors import ErrandsError
from errands.model.states import EVERY_STATE, STANDING
from errands.model.view import View
from errands.ports.output import Piece
from errands.ports.own_file import replace_file
from errands.ports.store import Query
from errands.text.describe import start_rank

_KEPT = 1000  # views
_MOST_QUESTIONS = 200
_MOST_FAILED = 50
_MOST_NEXT = 20
_FIRST_LOOK = timedelta(days=1)  # how far back failures are shown on the first visit
PAGE = 500  # tasks that are read at once
MOST = 20_000  # tasks that are listed: older ones are found by `errands ls`


@dataclass(frozen=True, slots=True)
class Known:
    """A task in a long list, with what a filter looks at; everything else is read when it is shown."""

    id: str
    state: str
    kind: str
    lane: str
    batch: str
    text: str

    def fits(self, words: Iterable[str]) -> bool:
        """Return whether all words of a filter fit: `state:`, `kind:`, `lane:`, `batch:`, or any text."""
        return all(self._fits(word) for word in words)

    def _fits(self, word: str) -> bool:
        name, colon, value = word.partition(":")
        if colon and name in ("state", "kind", "lane", "batch"):
            return str(getattr(self, name)).casefold() == value
        return word in self.text


@dataclass(frozen=True, slots=True)
class NowFacts:
    """The first screen: what waits for the person, what runs, what has failed, and what comes next."""

    waiting: list[View]
    running: list[View]
    failed: list[View]
    coming: list[View]
    more_pending: int


class Feed:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._views: OrderedDict[str, View | None] = OrderedDict()
        self.looked_at = self._load_look()

    def now(self) -> datetime:
        return self.engine.clock.now()

    # What changed.

    def forget(self, task_ids: Iterable[str] | None) -> None:
        """Read these tasks again when they are next shown; None: all of them."""
        if task_ids is None:
            self._views.clear()
            return
        for each in task_ids:
            self._views.pop(each, None)

    # Tasks.

    def views(self, task_ids: Sequence[str]) -> list[View | None]:
        """Return tasks as they are; None for one that is gone."""
        missing = [each for each in task_ids if each not in self._views]
        if missing:
            found = {view.id: view for view in self.engine.list(Query(ids=tuple(missing)))}
            for each in missing:
                self._views[each] = found.get(each)
            while len(self._views) > _KEPT + len(task_ids):
                self._views.popitem(last=False)
        return [self._views[each] for each in task_ids]

    def view(self, task_id: str) -> View | None:
        return self.views([task_id])[0]

    def _keep(self, views: Iterable[View]) -> None:
        for view in views:
            self._views[view.id] = view

    def page(self, before: str | None) -> list[Known]:
        """Return the next tasks of the list, newest first; commands of agents are part of their tasks."""
        views = self.engine.list(Query(states=EVERY_STATE, limit=PAGE, before=before, with_commands=False))
        return [known(view) for view in views]

    def now_facts(self) -> NowFacts:
        engine, at = self.engine, self.now()
        live = engine.list(Query(states=("proposed",), limit=_MOST_QUESTIONS))
        live += engine.list(Query(states=("running", "resumed")))
        standing = engine.list(Query(states=STANDING))
        live += [view for view in standing if view.latest.state == "running"]
        waiting = sorted((view for view in live if view.needs_approval), key=lambda view: view.created_at)
        running = [view for view in live if view.latest.state == "running" and not view.needs_approval]
        running.sort(key=lambda view: view.latest.started_at or view.created_at)
        failed = [
            view
            for view in engine.list(Query(states=("failed",), limit=_MOST_FAILED, with_commands=False))
            if (view.latest.completed_at or view.updated_at) > self.looked_at
        ]
        ids, pending = engine.next_pending(limit=_MOST_NEXT)
        seen = {view.id for view in live}
        coming = engine.summaries([each for each in ids if each not in seen])
        coming += [view for view in standing if view.state == "active" and not view.is_live]
        places = {each: place for place, each in enumerate(ids)}
        coming.sort(key=lambda view: start_rank(view, places.get(view.id, 0), at=at))
        self._keep((*live, *failed, *coming))
        return NowFacts(waiting, running, failed, coming, max(pending - len(ids), 0))

    def details(self, task_id: str) -> View | None:
        """Return a task with its details and its runs; None if it is gone."""
        try:
            return self.engine.get(task_id)
        except ErrandsError:
            return None

    # Output.

    def log(self, run_id: str, *, colour: bool, columns: int) -> LogText:
        def read(offset: int, limit: int) -> Piece:
            return self.engine.output(run_id, offset=offset, limit=limit)

        mask = self.engine.mask(run_id.rpartition(".")[0])
        return LogText(read, mask, colour=colour, columns=columns)

    def tail(self, task_id: str, lines: int) -> list[str]:
        """Return the last lines that a task has printed, masked and cleaned."""
        try:
            piece = self.engine.tail(task_id, lines)
            text = self.engine.mask(task_id).output(
                piece.content, before=piece.before, after=piece.after, colour=False
            )
        except ErrandsError:
            return []
        return text.expandtabs().removesuffix("\n").split("\n") if text else []

    # What the person has seen.

    def dismiss(self) -> None:
        """Remember that everything that has failed so far was seen."""
        self.looked_at = self.now()
        try:
            replace_file(self.engine.home.looked, self.looked_at.isoformat().encode())
        except OSError:
            pass  # then it is shown again next time

    def _load_look(self) -> datetime:
        try:
            with open(self.engine.home.looked, encoding="utf-8") as file:
                looked_at = datetime.fromisoformat(file.read(64).strip())
            return looked_at.astimezone(UTC)
        except (OSError, ValueError):
            return self.now() - _FIRST_LOOK


def known(view: View) -> Known:
    words = (view.id, view.state, view.name, view.description, view.command[:300], view.batch or "")
    return Known(
        id=view.id,
        state=view.state,
        kind=view.kind,
        lane=view.lane,
        batch=view.batch or "",
        text="\n".join(words).casefold(),
    )
