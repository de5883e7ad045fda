"""All tasks, newest first, with a filter; read page by page, so that the first ones are shown at once."""

from __future__ import annotations

from collections.abc import Iterable

from errands.frontends.top.feed import MOST, PAGE, Feed, Known, known
from errands.frontends.top.lists.rows import Entry


class TaskList:
    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._known: dict[str, Known] = {}
        self._order: list[str] = []  # newest first
        self._reading: list[str] | None = None  # the order that is being read again
        self.filter = ""
        self.count = 0  # of the tasks that match it
        self.is_whole = False  # whether all tasks were read
        self.is_cut = False  # whether there are more than are listed

    def begin(self) -> None:
        """Read everything again, page by page; what is known stays until then."""
        self._reading = []

    def read_page(self) -> bool:
        if self._reading is None:
            return False
        page = self._feed.page(self._reading[-1] if self._reading else None)
        for each in page:
            self._known[each.id] = each
        self._reading += [each.id for each in page]
        if len(page) == PAGE and len(self._reading) < MOST:
            if not self.is_whole:
                self._order = list(self._reading)
            return True
        self.is_cut = len(page) == PAGE
        self._order, self._reading = self._reading, None
        self._known = {each: self._known[each] for each in self._order}
        self.is_whole = True
        return False

    @property
    def is_reading(self) -> bool:
        return self._reading is not None

    def update(self, task_ids: Iterable[str]) -> None:
        """Take in tasks that were added, changed or removed."""
        ids = list(task_ids)
        new: list[tuple[str, str]] = []
        for task_id, view in zip(ids, self._feed.views(ids), strict=True):
            if view is None or view.agent_task is not None:
                if self._known.pop(task_id, None) is not None:
                    self._order.remove(task_id)
                continue
            if task_id not in self._known:
                new.append((view.created_at.isoformat(), task_id))
            self._known[task_id] = known(view)
        fresh = [task_id for _, task_id in sorted(new, reverse=True)]
        if fresh:
            self._order = [*fresh, *self._order]

    @property
    def total(self) -> int:
        return len(self._order)

    def matching(self) -> list[str]:
        """Return the ids of the tasks that match the filter."""
        words = self.filter.casefold().split()
        if not words:
            return list(self._order)
        return [each for each in self._order if self._known[each].fits(words)]

    def entries(self) -> list[Entry]:
        """Return the rows; an empty list says why it is empty."""
        found: list[Entry] = [*self.matching()]
        self.count = len(found)
        if not found and self.filter:
            hidden = f"None of {self.total:,} tasks matches {self.filter!r}; Esc removes the filter."
            return [[(hidden, "dim")]]
        if not found and self.is_whole:
            return [[("No tasks yet. Start one in a shell: errands run 'make test'", "dim")]]
        if self.is_cut:
            found.append([(f"Older tasks are not listed: these are the newest {self.total:,}.", "dim")])
        return found
