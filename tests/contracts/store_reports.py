"""The contract for what views and metrics read of a store."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest

from errands.model.action import Shell
from errands.model.rollup import rollup
from errands.model.schedule.slot_record import Slot
from errands.ports.store import Query
from errands.ports.store.reports import Total
from tests.contracts import store_outbox
from tests.contracts.store_approvals import propose
from tests.contracts.store_runs import add, claim
from tests.contracts.store_schedules import stand
from tests.contracts.store_sessions import talk
from tests.hand_clock import START
from tests.samples import sample_ending, sample_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def run(store: Store, id: str, *, start: timedelta, took: timedelta, code: int = 0, **changes: Any) -> None:
    """Add a task and run it."""
    add(store, sample_task(id, **changes))
    [(task, claimed)] = claim(store, changes.get("lane", "shell"))
    ending = sample_ending(
        code=code, started_at=START + start, ended_at=START + start + took, elapsed=took.total_seconds()
    )
    with store:
        outcome = rollup(task, claimed, ending)
        assert store.end(claimed, outcome, ending, summary="2 passed", now=START + start + took)


class ReportContract:
    @pytest.mark.spec("X24")
    def test_ended_runs_are_listed_by_name_and_counted_by_day(self, store: Store) -> None:
        day = timedelta(days=1)
        run(store, "early-222222", start=SECOND, took=SECOND, name="build")
        run(store, "broken-222222", start=day, took=MINUTE, code=3, name="build")
        run(store, "other-222222", start=2 * day, took=SECOND, name="lint")
        add(store, sample_task("live-222222", name="build"))

        everything = store.ended_runs(since=START, name=None, limit=10)
        assert [each.task_id for each in everything] == ["early-222222", "broken-222222", "other-222222"]
        assert [each.task_id for each in store.ended_runs(since=START, name=None, limit=1)] == [
            "other-222222"
        ]
        [broken] = store.ended_runs(since=START + day, name="build", limit=10)
        assert (broken.run, broken.state, broken.seconds, broken.tokens) == (1, "failed", 60.0, 0)
        assert broken.at == START + day + MINUTE
        assert store.busiest_names(since=START, limit=5) == [("build", 2), ("lint", 1)]
        assert store.busiest_names(since=START + 2 * day, limit=5) == [("lint", 1)]
        days = [(state, count) for _, state, count in store.ends_by_day(since=START, name="build")]
        assert days == [("completed", 1), ("failed", 1)]
        [(day_of, _, _)] = store.ends_by_day(since=START + 2 * day, name=None)
        assert day_of == str((START + 2 * day).date())

    @pytest.mark.spec("X9")
    def test_the_data_version_differs_after_every_change_and_only_then(self, store: Store) -> None:
        before = store.data_version()
        assert store.data_version() == before
        add(store, sample_task())
        changed = store.data_version()
        assert changed != before
        assert store.data_version() == changed

    def test_running_runs_are_named(self, store: Store) -> None:
        waiting = add(store, sample_task())
        assert store.running_attempts() == {}
        claim(store)
        assert store.running_attempts() == {waiting.id: 1}
        with store:
            store.request_stop(waiting.id, by="ada", now=START)
        assert store.running_attempts() == {waiting.id: 1}

    @pytest.mark.spec("X9")
    def test_tasks_are_found_by_text_kind_lane_batch_and_the_time_they_ended(self, store: Store) -> None:
        shell = Shell(commands=(("pytest", "100%_done"),), cwd="/", environment="none")
        run(store, "early-222222", start=SECOND, took=SECOND, batch="b")
        run(store, "late-222222", start=MINUTE, took=SECOND, lane="other", action=shell)
        talk(store)
        live = add(store, sample_task("live-222222", description="Count the LINES"))

        def found(**asked: Any) -> list[str]:
            views = [view.id.removesuffix("-222222") for view in store.views(Query(**asked))]
            assert [row.id.removesuffix("-222222") for row in store.rows(Query(**asked))] == views
            assert store.count_tasks(Query(**asked)) == len(views)
            return views

        assert found() == ["live", "talk", "late", "early"]
        assert found(kind="agent") == ["talk"]
        assert found(lane="other") == ["late"]
        assert found(batch="b") == ["early"]
        assert found(text="the lines") == ["live"]
        assert found(text="100%_") == ["late"]
        assert found(text="100__") == []
        assert found(text="ly-222") == ["early"]
        assert found(since=START + MINUTE) == ["live", "talk", "late"]
        assert found(since=START + MINUTE, states=("completed",)) == ["late"]
        assert found(since=START, states=("completed", "failed")) == ["late", "early"]
        assert found(states=("pending",), lane="shell", limit=5) == ["live"]
        assert store.view(live.task_id).lane == "shell"

    def test_a_row_has_what_a_line_of_a_list_needs(self, store: Store) -> None:
        run(store, "done-222222", start=SECOND, took=MINUTE, code=3, description="run the tests")
        waiting = add(store, sample_task("held-222222"))
        with store:
            store.pause_run(waiting.id, state="pending", by="ada", now=START)
        recurring = stand(store, id="often-222222")

        often, held, done = store.rows(Query())
        assert (done.state, done.title, done.failure, done.exit_code, done.summary, done.run) == (
            "failed", "run the tests", "exit", 3, "2 passed", 1,
        )  # fmt: skip
        assert (done.started_at, done.ended_at) == (START + SECOND, START + SECOND + MINUTE)
        assert (held.state, held.is_paused, held.title, held.ended_at) == ("pending", True, "true", None)
        assert (often.id, often.state, often.run, often.next_at) == (
            recurring.id,
            "active",
            0,
            START + MINUTE,
        )

    def test_the_bars_of_a_timeline_are_runs_that_overlap(self, store: Store) -> None:
        run(store, "a-222222", start=timedelta(), took=10 * SECOND)
        run(store, "b-222222", start=5 * SECOND, took=10 * SECOND, code=1)
        run(store, "c-222222", start=40 * SECOND, took=SECOND)
        run(store, "d-222222", start=40 * SECOND, took=SECOND, lane="other")
        run(store, "gone-222222", start=-MINUTE, took=SECOND)
        add(store, sample_task("waits-222222"))

        bars = store.bars(since=START, until=START + MINUTE, steps=60, group="lane", tracks=1)
        assert [(each.group, each.first, each.last, each.runs, each.state) for each in bars] == [
            ("other", 40, 41, 1, "completed"),
            ("shell", 0, 15, 2, "failed"),
            ("shell", 40, 41, 1, "completed"),
        ]
        assert (bars[1].task_id, bars[1].started_at, bars[1].ended_at) == (
            "b-222222", START, START + 15 * SECOND,
        )  # fmt: skip
        assert len(store.bars(since=START, until=START + MINUTE, steps=1, group="name", tracks=1)) == 1
        assert (
            store.bars(since=START + MINUTE, until=START + 2 * MINUTE, steps=9, group="batch", tracks=1) == []
        )
        claim(store, "shell")
        bars = store.bars(since=START, until=START + MINUTE, steps=60, group="lane", tracks=1)
        assert max(each.last for each in bars) == 59  # what still runs reaches the end, and not beyond

    @pytest.mark.spec("X9")
    def test_runs_that_overlap_are_on_tracks_of_their_own_as_far_as_there_are_any(self, store: Store) -> None:
        for name, start, took, code in (
            ("a", 0, 30, 0), ("b", 5, 10, 1), ("c", 10, 5, 0), ("d", 12, 20, 0), ("e", 40, 5, 0),
        ):  # fmt: skip
            run(store, f"{name}-222222", start=start * SECOND, took=took * SECOND, code=code)

        def drawn(tracks: int) -> list[tuple[int, int, int, int, str]]:
            bars = store.bars(since=START, until=START + MINUTE, steps=60, group="lane", tracks=tracks)
            return [(each.track, each.first, each.last, each.runs, each.state) for each in bars]

        assert drawn(4) == [
            (0, 0, 30, 1, "completed"),
            (1, 5, 15, 1, "failed"),
            (2, 10, 15, 1, "completed"),
            (3, 12, 32, 1, "completed"),
            (0, 40, 45, 1, "completed"),
        ]
        assert drawn(2) == [
            (0, 0, 30, 1, "completed"),
            (1, 5, 32, 3, "failed"),  # what found no track is joined, by its worst state
            (0, 40, 45, 1, "completed"),
        ]

    def test_slots_are_counted_by_their_outcome_and_that_of_their_run(self, store: Store) -> None:
        task = stand(store)
        with store:
            run = store.add_run(task.id, cause="schedule", now=START).number
        slots = [
            Slot(slot=START, until=START, count=1, outcome="ran", at=START, run=run),
            Slot(slot=START + MINUTE, until=START + 3 * MINUTE, count=3, outcome="skipped", at=START),
            Slot(slot=START + 4 * MINUTE, until=START + 4 * MINUTE, count=1, outcome="skipped", at=START),
            Slot(slot=START + 5 * MINUTE, until=START + 5 * MINUTE, count=1, outcome="missed", at=START),
        ]
        with store:
            store.add_slots(task.id, slots)
        assert store.slot_outcomes(task.id, since=START, until=START + 5 * MINUTE) == [
            ("ran", "pending", 1),
            ("skipped", None, 4),
        ]
        assert store.slot_outcomes(task.id, since=START + 5 * MINUTE, until=START + 6 * MINUTE) == [
            ("missed", None, 1)
        ]

    def test_the_latest_slots_of_all_schedules_are_read_at_once(self, store: Store) -> None:
        tasks = [stand(store, id=f"{name}-222222") for name in ("one", "two")]
        slots = [
            Slot(slot=START + n * MINUTE, until=START + n * MINUTE, count=1, outcome="ran", at=START, run=n)
            for n in range(1, 5)
        ]
        with store:
            for task in tasks:
                store.add_slots(task.id, slots)
        assert store.recent_slots(limit=2) == {task.id: [slots[3], slots[2]] for task in tasks}

    @pytest.mark.spec("X23")
    def test_totals_of_runs_never_fall(self, store: Store) -> None:
        run(store, "fast-222222", start=SECOND, took=SECOND / 20)
        run(store, "slow-222222", start=SECOND, took=timedelta(days=1))
        run(store, "bad-222222", start=SECOND, took=SECOND, code=1)
        never = add(store, sample_task("never-222222"))
        with store:
            store.cancel_pending(never.id, by="ada", now=START)

        def totals() -> set[tuple[object, ...]]:
            return {
                (each.kind, each.lane, each.state, each.failure, each.le, each.runs, round(each.seconds, 2))
                for each in store.run_totals()
            }

        expected = {
            ("shell", "shell", "completed", "", 0.1, 1, 0.05),
            ("shell", "shell", "completed", "", math.inf, 1, 86400.0),
            ("shell", "shell", "failed", "exit", 1.0, 1, 1.0),
            ("shell", "shell", "cancelled", "", 0.0, 1, 0.0),
        }
        assert totals() == expected
        with store:
            store.remove(["fast-222222", "slow-222222", "bad-222222", "never-222222"], now=START)
        assert store.counts()["completed"] == 0
        assert totals() == expected
        run(store, "fast-222222", start=SECOND, took=SECOND / 20)
        assert ("shell", "shell", "completed", "", 0.1, 2, 0.1) in totals()

    @pytest.mark.spec("X23")
    def test_totals_of_answers_notices_and_usage_never_fall(self, store: Store) -> None:
        assert store.open_questions() == 0
        asked, question = propose(store)
        assert store.open_questions() == 1
        talk(store)
        with store:
            store.answer(question.id, "refused", by="ada", door="web", now=START)
            store.add_exchange("talk-222222.1", "hello")
            for tokens in (30, 12):
                store.note_activity("talk-222222.1", usage={"input_tokens": tokens}, tools=(), now=START)
        for number in range(3):
            store_outbox.add(store, number)
        assert store.waiting_notices() == {"mail": 3}
        with store:
            first, second, _ = store_outbox.waiting(store)
            store.mark_delivered([first.id], now=START)
            store.give_up([second.id], "dead", error="no such place")
            store.reject_pending(asked.id, why="no", now=START)
            store.remove([asked.task_id], now=START)
        assert store.waiting_notices() == {"mail": 1}
        assert {each for each in store.totals() if each.count} == {
            Total(name="answers", kind="", state="refused", count=1),
            Total(name="input_tokens", kind="", state="", count=42),
            Total(name="notices", kind="mail", state="delivered", count=1),
            Total(name="notices", kind="mail", state="dead", count=1),
        }

    def test_the_oldest_run_that_could_start_is_known(self, store: Store) -> None:
        assert store.oldest_ready() is None
        add(store, sample_task("late-222222", created_at=START + MINUTE))
        add(store, sample_task())
        assert store.oldest_ready() == START
        claim(store)
        assert store.oldest_ready() is None
