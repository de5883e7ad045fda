"""Rows: tasks as lists show them, in the words of the command line; and the counts beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from errands.engine.engine import Engine
from errands.engine.task_facts import task_facts
from errands.engine.text_mask import TextMask
from errands.frontends.web.api.shapes import shaped
from errands.model.text.sanitise import line, visible
from errands.model.view import RunView, View, plain_value
from errands.ports.store import Query
from errands.text import Look, clip
from errands.text.describe import ending_line, outcome, purpose, result, state_word

LOOK = Look(columns=100_000)
NO_DAEMON = "No daemon is running: nothing starts, and it is not known what has ended."
LONGEST = 160  # characters of what a row says about its task


class Rows:
    """Makes rows of views; of a command with a secret, the value is masked."""

    def __init__(self, engine: Engine) -> None:
        self._mask = TextMask(engine, os.environ)
        self._now = datetime.now(UTC)

    def all(self, views: Iterable[View]) -> list[dict[str, Any]]:
        return [self.one(view) for view in views]

    def one(self, view: View) -> dict[str, Any]:
        run, standing = view.latest, view.standing
        next_at = standing.next_at if standing is not None else view.due_at if not run.started_at else None
        return {
            "id": view.id,
            "kind": "shell" if view.agent is None else "agent",
            "state": state_word(view) if state_word(view) != "resumed" else run.state,
            "name": self._text(view, view.name),
            "what": self._text(view, purpose(view)),
            "lane": line(view.lane),
            "batch": None if view.batch is None else line(view.batch),
            "parent": view.agent_task,
            "agent": None if view.agent is None else line(view.agent.name),
            "recurring": standing is not None,
            "live": view.is_live,
            "run": run.number,
            "created_at": plain_value(view.created_at),
            "started_at": plain_value(run.started_at),
            "completed_at": plain_value(run.completed_at),
            "next_at": plain_value(next_at),
            "percent": None if view.progress is None else view.progress.percent,
            "question": None if view.question is None else view.question.id,
            "said": {
                "state": state_word(view),
                "more": self.more(view, longest=400),
            },
        }

    def more(self, view: View, *, longest: int) -> str:
        """Return what there is to say besides the state; a page counts time by itself."""
        said = outcome(view, LOOK, at=self._now, is_kept=True)
        return self._text(view, said.strip(), longest=longest)

    def result(self, view: View, run: RunView) -> str:
        return self._text(view, result(run), longest=400)

    def ending(self, view: View) -> str:
        return self._text(view, ending_line(view, LOOK, at=self._now), longest=400)

    def _text(self, view: View, text: str, *, longest: int = LONGEST) -> str:
        return clip(line(self._mask.text(view.id, text)), longest)


def changed(engine: Engine, view: View, text: str = "") -> dict[str, Any]:
    """Return the answer of a verb: the task as it is now, and what was done."""
    rows = Rows(engine)
    return {"row": rows.one(view), "said": {"text": text or rows.ending(view)}}


def done(text: str) -> dict[str, Any]:
    """Return the answer of a verb that is about no task, or about one that is gone."""
    return {"said": {"text": text}}


def facts_about(engine: Engine, view: View) -> list[dict[str, str]]:
    """Return what `errands show` prints about a task."""
    mask = engine.mask(view.id)
    return [
        {"name": name, "value": mask.text(visible(value))}
        for name, value in task_facts(engine, view, LOOK, at=datetime.now(UTC))
        if value
    ]


def counts(engine: Engine) -> dict[str, int]:
    """Count the runs in each state, and the tasks that wait for approval."""
    found = engine.counts()
    states = ("pending", "running", "completed", "failed", "cancelled", "skipped")
    return {"waiting": len(engine.answerable()), **{state: found.get(state, 0) for state in states}}


def lanes(engine: Engine) -> dict[str, Any]:
    return {"lanes": [shaped("Lane", each) for each in engine.queue.lanes()]}


def daemon_facts(engine: Engine, *, is_live: bool) -> dict[str, Any]:
    """Say whether a daemon runs; if not, and something needs it, say what does not happen."""
    return {"live": is_live, "said": {"why": NO_DAEMON if not is_live and _is_needed(engine) else ""}}


def _is_needed(engine: Engine) -> bool:
    counts = engine.counts()
    if counts.get("running") or counts.get("pending"):
        return True
    return bool(engine.list(Query(states=("active",), limit=1)))
