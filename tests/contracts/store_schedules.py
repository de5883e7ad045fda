"""The contract for a store's recurring tasks and watches. Subclass it and add a `store` fixture."""

from __future__ import annotations

from datetime import timedelta

import pytest

from errands.model.errors import NotFound
from errands.model.record import evolve
from errands.model.schedule.cursor import ScheduleCursor
from errands.model.schedule.slot_record import Slot
from errands.model.schedule.watch import Watch
from errands.model.trigger import Cron, Every, On
from errands.ports.store import Query
from tests.hand_clock import START
from tests.samples import sample_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.model.task import Task
    from errands.model.trigger import Standing
    from errands.ports.store import Store

MINUTE = timedelta(minutes=1)
EVERY = Every(span=MINUTE, anchor=START)


def stand(store: Store, trigger: Standing = EVERY, **changes: Any) -> Task:
    task = sample_task(trigger=trigger, **changes)
    with store:
        assert store.add_recurring(task, ScheduleCursor(processed_until=START, next_at=START + MINUTE))
    return task


class ScheduleContract:
    @pytest.mark.parametrize(
        "trigger",
        [
            EVERY,
            Every(
                span=timedelta(seconds=90),
                anchor=START,
                zone="Europe/Vienna",
                hours="Mon-Fri 9-17",
                jitter=timedelta(seconds=5),
                misfire="all",
                max_age=timedelta(hours=1),
                max_runs=3,
            ),
            Cron(line="0 9 * * 1-5", zone="Asia/Tokyo", misfire="skip"),
            On(source="file", options={"path": "*.py"}, debounce=timedelta(seconds=1), rate=5, max_runs=2),
        ],
        ids=["every", "every with all", "cron", "on"],
    )
    def test_a_recurring_task_is_read_back_as_it_was_written(self, store: Store, trigger: Standing) -> None:
        task = stand(store, trigger)

        assert store.task(task.id) == task
        view = store.view(task.id)
        assert (view.state, view.runs, view.is_live, store.ended(task.id)) == ("active", 0, False, False)
        with store:
            assert not store.add_recurring(task, ScheduleCursor(processed_until=START))

    def test_the_next_due_time_and_the_due_schedules_are_known(self, store: Store) -> None:
        stand(store)
        other = stand(store, id="other-222222")
        with store:
            store.set_next_fire(other.id, START + 2 * MINUTE)
        assert store.next_due("schedules") == START + MINUTE
        due = store.due_schedules(now=START + MINUTE, limit=10)
        assert [(task.id, is_busy) for task, _, is_busy in due] == [("true-222222", False)]
        with store:
            store.set_next_fire("true-222222", None)
            store.add_run(other.id, cause="manual", now=START)
        assert [each[2] for each in store.due_schedules(now=START + 2 * MINUTE, limit=10)] == [True]

    @pytest.mark.spec("T2")
    def test_a_trigger_can_be_replaced(self, store: Store) -> None:
        task = stand(store)
        assert isinstance(task.trigger, Every)
        later = evolve(task, trigger=evolve(task.trigger, anchor=START + MINUTE))
        with store:
            store.set_trigger(later)
        assert store.task(task.id) == later

    def test_of_two_that_advance_the_same_cursor_one_wins(self, store: Store) -> None:
        task = stand(store)
        later = START + MINUTE
        with store:
            assert store.advance(task.id, since=START, until=later, next_at=later, runs=1)
            assert not store.advance(task.id, since=START, until=later, next_at=later, runs=1)
        assert store.cursor(task.id) == ScheduleCursor(processed_until=later, next_at=later, runs=1)

    def test_cursors_ahead_of_the_clock_are_found(self, store: Store) -> None:
        task = stand(store)
        assert store.schedules_ahead(START) == []
        assert [each.id for each, _ in store.schedules_ahead(START - MINUTE)] == [task.id]

    def test_the_last_result_and_the_failures_are_kept(self, store: Store) -> None:
        task = stand(store)
        with store:
            store.note_result(task.id, failures=1, result="abc")
        cursor = store.cursor(task.id)
        assert cursor is not None
        assert (cursor.failures, cursor.result) == (1, "abc")

    def test_a_task_moves_only_as_the_state_table_allows(self, store: Store) -> None:
        task = stand(store)
        with store:
            assert store.move_task(task.id, "unpause", now=START) is None
            assert store.move_task(task.id, "pause", now=START) == "paused"
            assert store.count_recurring(("active",)) == 0
            assert store.move_task(task.id, "unpause", now=START) == "active"
            assert store.count_recurring(("active",)) == 1
            assert store.move_task(task.id, "cancel", now=START) == "cancelled"
        assert store.ended(task.id)

    def test_lists_show_a_recurring_task_with_its_own_state(self, store: Store) -> None:
        task = stand(store)
        stand(store, id="asked-222222", state="proposed")
        with store:
            store.add_run(task.id, cause="schedule", now=START)

        def listed(*states: str) -> list[str]:
            return [view.id for view in store.views(Query(states=states))]

        assert listed("active") == listed("active", "paused") == [task.id]
        assert listed("pending") == listed("completed") == listed("paused") == []
        assert listed("proposed") == listed("proposed", "running") == ["asked-222222"]
        assert store.liveness([task.id, "asked-222222"]) == {task.id: True, "asked-222222": True}

    @pytest.mark.trap(45)
    def test_the_last_run_time_is_that_of_a_started_run(self, store: Store) -> None:
        task = stand(store)
        skipped = Slot(slot=START, until=START, count=1, outcome="skipped", at=START)

        def last() -> object:
            standing = store.view(task.id).standing
            return None if standing is None else standing.last_at

        with store:
            store.add_slots(task.id, [skipped])
            store.add_run(task.id, cause="schedule", now=START)
        assert last() is None
        with store:
            store.claim("shell", limit=1, now=START + MINUTE)
        assert last() == START + MINUTE

    def test_a_delayed_run_can_be_released_early_once(self, store: Store) -> None:
        task = stand(store)
        with store:
            run = store.add_run(task.id, cause="retry", now=START, not_before=START + MINUTE)
            assert store.ready_lanes() == []
            assert store.start_now(run.id)
            assert not store.start_now(run.id)
        assert store.ready_lanes() == ["shell"]

    def test_only_retries_of_a_clock_that_was_ahead_wait_anew(self, store: Store) -> None:
        task, other = stand(store), stand(store, id="other-222222")
        with store:
            run = store.add_run(task.id, cause="retry", now=START, not_before=START + MINUTE)
            fixed = store.add_run(other.id, cause="schedule", now=START, not_before=START + MINUTE)
            store.rewind_retries(now=START)
            assert store.not_before(run.id) == START + MINUTE
            store.rewind_retries(now=START - 60 * MINUTE)
            assert store.not_before(run.id) == START - 59 * MINUTE
            store.rewind_retries(now=START - 60 * MINUTE)
        assert store.not_before(run.id) == START - 59 * MINUTE
        assert store.not_before(fixed.id) == START + MINUTE

    def test_slot_records_are_read_newest_first_and_since_a_time(self, store: Store) -> None:
        task = stand(store)
        span = Slot(
            slot=START, until=START + 4 * MINUTE, count=5, outcome="coalesced", at=START, reason="r", run=1
        )
        last = Slot(
            slot=START + 5 * MINUTE, until=START + 5 * MINUTE, count=1, outcome="ran", at=START, run=1
        )
        with store:
            store.add_slots(task.id, [span, last])
        assert store.slots(task.id) == [last, span]
        assert store.slots(task.id, limit=1) == [last]
        assert store.slots(task.id, after=START + 2 * MINUTE) == [last, span]
        assert store.slots(task.id, after=START + 4 * MINUTE) == [last]
        kept = evolve(span, until=START + MINUTE, count=2)
        with store:
            store.trim_slot(task.id, span, kept)
            store.trim_slot(task.id, last, None)
        assert store.slots(task.id) == [kept]
        with store:
            store.purge(before=START, history_before=START + 2 * MINUTE)
        assert store.slots(task.id) == []

    def test_a_slot_has_one_record_and_only_a_waiting_one_can_change(self, store: Store) -> None:
        task = stand(store)
        waits = Slot(slot=START, until=START, count=1, outcome="waiting", at=START)
        late = evolve(waits, outcome="late", run=2)
        with store:
            store.add_slots(task.id, [waits])
        assert store.waiting_slots(task.id) == [START]
        with store:
            store.add_slots(task.id, [late])
            store.add_slots(task.id, [evolve(late, outcome="ran", run=3)])
        assert store.slots(task.id) == [late]
        with store:
            store.close_slots(task.id, "skipped", "paused", run=2)
        assert [(each.outcome, each.reason) for each in store.slots(task.id)] == [("skipped", "paused")]

    def test_waiting_slots_can_be_given_up(self, store: Store) -> None:
        task = stand(store)
        with store:
            store.add_slots(task.id, [Slot(slot=START, until=START, count=1, outcome="waiting", at=START)])
            store.close_slots(task.id, "missed", "cancelled")
        assert [(each.outcome, each.reason) for each in store.slots(task.id)] == [("missed", "cancelled")]

    def test_a_recurring_task_expires_only_after_its_end_even_without_a_run(self, store: Store) -> None:
        task = stand(store)
        later = START + MINUTE
        assert store.expired_tasks(before=later, limit=10) == []
        with store:
            store.move_task(task.id, "cancel", now=START)
        assert store.expired_tasks(before=later, limit=10) == [task.id]
        with store:
            store.remove([task.id], now=START)
        with pytest.raises(NotFound):
            store.view(task.id)
        assert store.cursor(task.id) is None


class WatchContract:
    def test_a_watch_keeps_what_it_has_seen(self, store: Store) -> None:
        task = stand(store, On(source="file"))
        assert store.watch(task.id) is None
        seen = Watch(
            task_id=task.id,
            baseline="abc",
            checked_at=START,
            health="failing",
            failures=2,
            error="no route",
            broken_until=START + MINUTE,
        )
        with store:
            store.save_watch(Watch(task_id=task.id))
            store.save_watch(seen)
        assert store.watch(task.id) == seen
        assert store.watches() == [seen]
        with store:
            store.move_task(task.id, "pause", now=START)
        assert store.watches() == []

    def test_a_check_is_recorded_without_writing_the_seen_state_again(self, store: Store) -> None:
        task = stand(store, On(source="file"))
        assert store.watched_tasks() == []
        with store:
            store.save_watch(Watch(task_id=task.id, baseline="abc", health="failing", failures=1, error="no"))
            seen = Watch(task_id=task.id, baseline="other", checked_at=START, health="well")
            store.save_watch(seen, has_new_baseline=False)
        assert store.watched_tasks() == [task.id]
        assert store.watch(task.id) == Watch(task_id=task.id, baseline="abc", checked_at=START, health="well")

    def test_waiting_signals_are_counted_and_the_last_one_is_known(self, store: Store) -> None:
        task = stand(store, On(source="file"))
        assert store.waiting_signals(task.id) == (0, None, None)
        assert store.last_signal(task.id) is None
        with store:
            first = store.add_signal(task.id, "first", now=START)
            own = store.add_signal(task.id, "own", now=START, run=0)
            last = store.add_signal(task.id, "last", now=START)
            store.add_signal(task.id, "own again", now=START + MINUTE, run=0)
        assert first == START
        assert first < (own or START) < (last or START)
        assert store.waiting_signals(task.id) == (2, first, last)
        found = store.last_signal(task.id)
        assert found is not None
        assert (found.body, found.at) == ("last", last)

    def test_runs_are_listed_by_cause_and_by_time(self, store: Store) -> None:
        task = stand(store, On(source="file"))
        with store:
            store.add_run(task.id, cause="event", now=START)
            store.claim(task.lane, limit=1, now=START + MINUTE)
        assert [run.created_at for run in store.history(task.id, cause="event", limit=5)] == [START]
        assert store.history(task.id, cause="schedule") == ()
        [live] = store.history(task.id, live_since=START + 2 * MINUTE)
        assert (live.started_at, live.completed_at) == (START + MINUTE, None)

    def test_a_signal_is_kept_until_a_run_takes_it_and_reported_once(self, store: Store) -> None:
        task = stand(store, On(source="webhook"))
        with store:
            assert store.add_signal(task.id, '{"n": 1}', now=START, key="delivery-1")
            assert not store.add_signal(task.id, '{"n": 1}', now=START, key="delivery-1")
            assert store.add_signal(task.id, '{"n": 2}', now=START)
            assert store.add_signal(task.id, '{"n": 3}', now=START)
        assert [each.body for each in store.signals(task.id)] == ['{"n": 1}', '{"n": 2}', '{"n": 3}']
        with store:
            assert store.assign_signals(task.id, run=1) == 3
        assert store.signals(task.id) == []
        assert [each.run for each in store.signals(task.id, run=1)] == [1, 1, 1]
        with store:
            store.purge(before=START, history_before=START + MINUTE)
        assert store.signals(task.id, run=1) == []
