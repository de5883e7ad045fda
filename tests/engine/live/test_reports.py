"""Light rows of long lists, timelines, and what is kept of tool calls."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from errands.engine.agents.activity import LONGEST_WORDS
from errands.engine.engine import Engine
from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.model.record import fields
from errands.model.text.ids import LONGEST_SLUG
from errands.ports.store import Query
from errands.ports.store.reports import TaskRow
from errands.testing.engines import TestEngine

TOKEN = "ghp_" + "a1B2" * 9
LONGEST_ROW = 400
PYTEST = "== 12345678 failed, 12345678 passed, 12345678 skipped, 12345678 errors in 12345.67s =="


def size(row: TaskRow) -> int:
    """Return the bytes of a row in JSON, without what is empty."""
    values = {name: value for name in fields(row) if (value := getattr(row, name)) not in (None, "", 0)}
    text = json.dumps(
        values,
        ensure_ascii=False,
        separators=(",", ":"),
        default=lambda at: f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )
    return len(text.encode())


@pytest.mark.spec("X9")
@pytest.mark.parametrize("letter", ["x", "界", "\x1b", '"'])
async def test_the_longest_row_is_light(engine: TestEngine, letter: str) -> None:
    engine.engine.queue.set_lane("l" * 60, 1, by="ada")
    view = await engine.finished(
        f"echo '{PYTEST}'; exit 77  # {letter * 3000}",
        name="n" * LONGEST_SLUG,
        description=letter * 190,
        lane="l" * 60,
        batch="b" * 190,
    )
    [row] = engine.engine.reports.rows(Query())
    assert (row.id, row.state, row.exit_code) == (view.id, "failed", 77)
    assert row.summary
    assert size(row) <= LONGEST_ROW


async def test_a_secret_is_masked_in_a_row_and_a_row_is_one_line(engine: TestEngine) -> None:
    await engine.finished(f"echo {TOKEN}\necho done")
    [row] = engine.engine.reports.rows(Query())
    assert TOKEN[:12] not in row.title
    assert row.title.startswith("echo ")
    assert "\n" not in row.title


async def test_a_timeline_shows_what_ran(engine: TestEngine) -> None:
    view = await engine.finished("true")
    now = datetime.now(UTC)
    [bar] = engine.engine.reports.timeline(since=now - timedelta(hours=1), until=now, steps=60)
    assert (bar.group, bar.runs, bar.state, bar.task_id) == ("shell", 1, "completed", view.id)


def test_a_timeline_that_cannot_be_drawn_is_refused(client: Engine) -> None:
    now = datetime.now(UTC)
    with pytest.raises(BadValue, match="must end after it begins"):
        client.reports.timeline(since=now, until=now)
    with pytest.raises(BadValue, match="steps must be between 1 and"):
        client.reports.timeline(since=now - timedelta(hours=1), until=now, steps=0)


@pytest.mark.spec("X9")
async def test_what_a_tool_was_given_and_gave_is_kept_masked_and_clipped(engine: TestEngine) -> None:
    command = f"echo {TOKEN}; seq 5000"
    view = await engine.answered(f"run `{command}`", agent="offline")
    assert view.state == "completed", view.latest.error
    details = {
        event.name: json.loads(event.detail)
        for event in await engine.events(view.id)
        if event.name in ("tool", "tool_end")
    }
    assert details["tool"]["text"].startswith("echo ")
    assert details["tool"]["text"].endswith("; seq 5000")
    assert "\n2\n3\n" in details["tool_end"]["text"]
    assert len(details["tool_end"]["text"]) <= LONGEST_WORDS + 1
    assert TOKEN not in json.dumps(details)


@pytest.mark.spec("X9")
async def test_tasks_are_listed_by_text_kind_lane_and_time(engine: TestEngine) -> None:
    engine.engine.queue.set_lane("other", 1, by="ada")
    view = await engine.finished("true", description="count the lines", lane="other")
    await engine.finished("true")
    listed = engine.engine.list
    assert [each.id for each in listed(Query(text="THE LINES"))] == [view.id]
    assert [each.id for each in listed(Query(lane="other", kind="shell"))] == [view.id]
    assert listed(Query(since=datetime.now(UTC) + timedelta(hours=1))) == []


def test_a_draft_is_found_before_it_starts(client: Engine) -> None:
    view = client.submit(Draft(command=("true",), batch="release"))
    assert [row.id for row in client.reports.rows(Query(batch="release", states=("pending",)))] == [view.id]
