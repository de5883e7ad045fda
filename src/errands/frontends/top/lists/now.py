"""Now: what waits for the person, what runs, what has failed unseen, and what comes next."""

from __future__ import annotations

from errands.frontends.top.feed import NowFacts
from errands.frontends.top.line_view import Line
from errands.frontends.top.lists.rows import Entry
from errands.model.view import View


def now_entries(facts: NowFacts, *, is_first_time: bool = False) -> list[Entry]:
    """List the groups, always in the same order; a group without tasks is a line that says so."""
    entries: list[Entry] = []
    entries += _group("WAITING FOR YOU", facts.waiting, "Nothing is waiting for you.")
    entries += _group("RUNNING", facts.running, "Nothing is running.")
    entries += _group("NEW FAILURES", facts.failed, "No new failures.")
    entries += _group("NEXT", facts.coming, "Nothing comes next.")
    if facts.more_pending:
        entries.append([(f"   and {facts.more_pending:,} more wait", "dim")])
    if is_first_time:
        entries.append([])
        entries.append([("No tasks yet: press o to start one, or in a shell: errands run 'make test'", "")])
    return entries


def _group(title: str, views: list[View], nothing: str) -> list[Entry]:
    if not views:
        empty: Line = [(nothing, "dim")]
        return [empty]
    heading: Line = [(title, "bold"), (f" · {len(views)}", "dim")]
    return [heading, *(view.id for view in views)]
