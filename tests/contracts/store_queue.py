"""The contract for a store's queue: what is held or paused, the order of a lane, and its width."""

from __future__ import annotations

from datetime import timedelta

import pytest

from errands.model.action import Shell
from errands.model.limits import LaneWidth
from errands.model.record import evolve
from errands.model.rollup import rollup
from errands.model.schedule.cursor import ScheduleCursor
from errands.model.trigger import Every
from tests.contracts.store_runs import add, claim
from tests.hand_clock import START
from tests.samples import sample_ending, sample_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store

LATER = START + timedelta(seconds=90)


class QueueContract:
    @pytest.mark.spec("L28")
    def test_a_held_run_is_not_claimed_until_it_is_released(self, store: Store) -> None:
        run = add(store, sample_task())
        with store:
            assert store.pause_run(run.id, state="pending", by="ada", now=START)
            assert not store.pause_run(run.id, state="pending", by="ada", now=START)
        assert store.ready_lanes() == []
        assert claim(store) == []
        assert store.view(run.task_id).is_held

        with store:
            assert store.unpause_run(run.id, state="pending", now=LATER)
            assert not store.unpause_run(run.id, state="pending", now=LATER)
        assert store.ready_lanes() == ["shell"]
        assert [found.id for _, found in claim(store)] == [run.id]
        assert store.view(run.task_id).latest.paused_for == 0  # it only waited

    def test_a_task_can_be_held_from_the_start(self, store: Store) -> None:
        with store:
            run = store.add_task(sample_task(), held_by="ada")
        assert run is not None
        assert claim(store) == []
        assert store.view(run.task_id).latest.paused_at == START

    @pytest.mark.spec("L28")
    def test_a_running_run_is_paused_and_continued_and_the_time_adds_up(self, store: Store) -> None:
        run = add(store, sample_task())
        claim(store)
        with store:
            assert not store.pause_run(run.id, state="pending", by="ada", now=START)
            assert store.pause_run(run.id, state="running", by="ada", now=START)
        assert store.paused_runs() == [run.id]
        with store:
            assert not store.unpause_run(run.id, state="pending", now=LATER)
            assert store.unpause_run(run.id, state="running", now=LATER)
        assert store.paused_runs() == []
        assert store.view(run.task_id).latest.paused_for == 90

        with store:
            store.pause_run(run.id, state="running", by="ada", now=LATER)
            current, ending = store.run(run.id), sample_ending()
            outcome = rollup(store.task(run.task_id), current, ending)
            assert store.end(current, outcome, ending, summary=None, now=LATER + timedelta(seconds=10))
        latest = store.view(run.task_id).latest
        assert (latest.paused_at, latest.paused_for) == (None, 100)

    def test_what_is_being_stopped_is_not_paused(self, store: Store) -> None:
        run = add(store, sample_task())
        claim(store)
        with store:
            store.pause_run(run.id, state="running", by="ada", now=START)
            store.request_stop(run.id, by="ada", now=START)
        assert store.paused_runs() == []
        assert not store.view(run.task_id).is_paused
        with store:
            store.unpause_run(run.id, state="running", now=START)
            assert not store.pause_run(run.id, state="running", by="ada", now=START)

    def test_a_held_run_can_be_cancelled(self, store: Store) -> None:
        run = add(store, sample_task())
        with store:
            store.pause_run(run.id, state="pending", by="ada", now=START)
            assert store.cancel_pending(run.id, by="ada", now=LATER)
        assert store.view(run.task_id).latest.paused_at is None

    @pytest.mark.spec("L28")
    def test_a_pending_run_moves_in_its_lane(self, store: Store) -> None:
        runs = {name: add(store, sample_task(f"{name}-222222")).id for name in "abcde"}

        def order() -> str:
            return "".join(each[0] for each in store.lane_order("shell"))

        def move(name: str, before: str | None) -> bool:
            with store:
                return store.move_run(runs[name], before=before and runs[before])

        assert order() == "abcde"
        assert move("d", "a")
        assert order() == "dabce"
        assert move("d", None)
        assert order() == "abced"
        assert move("a", "e")
        assert order() == "bcaed"
        assert move("b", "b") is False
        late = add(store, sample_task("f-222222"))
        assert order() == "bcaedf"
        assert [found.task_id[0] for _, found in claim(store)] == list("bcaedf")
        assert not move("b", None)  # it runs
        assert late.task_id == "f-222222"

    def test_a_moved_run_takes_the_priority_of_its_neighbour(self, store: Store) -> None:
        high = add(store, sample_task("h-222222", priority="high"))
        normal = add(store, sample_task("n-222222"))
        low = add(store, sample_task("l-222222", priority="low"))
        with store:
            assert store.move_run(low.id, before=high.id)
        assert store.lane_order("shell") == [low.id, high.id, normal.id]
        again = add(store, sample_task("i-222222", priority="high"))
        assert store.lane_order("shell") == [low.id, high.id, again.id, normal.id]
        with store:
            assert store.move_run(high.id, before=None)
        assert [found.id for _, found in claim(store)] == [low.id, again.id, normal.id, high.id]

    def test_a_run_moves_in_its_own_lane_alone(self, store: Store) -> None:
        here, there = add(store, sample_task("a-222222")), add(store, sample_task("b-222222", lane="gpu"))
        with store:
            assert not store.move_run(here.id, before=there.id)
            assert store.move_run(here.id, before=None)  # alone
        assert store.lane_order("gpu") == [there.id]

    @pytest.mark.spec("L28")
    def test_a_pending_task_is_replaced_and_its_questions_are_void(self, store: Store) -> None:
        task = sample_task(state="proposed", approved_by=None, digest="old")
        run = add(store, task)
        with store:
            store.ask(task, 1, (), now=START, expires_at=LATER)
        action = Shell(commands=("make",), cwd="/src", environment="none")
        edited = evolve(task, state="active", action=action, lane="gpu", priority="high", digest="new")
        seen = store.view(task.id).updated_at
        with store:
            assert store.replace_task(edited, run=1, since=seen, not_before=None, now=LATER)
            assert not store.replace_task(edited, run=1, since=seen, not_before=None, now=LATER)
        assert store.task(task.id) == edited
        assert store.question(task.id) is None
        assert [each.state for each in store.approvals(task.id)] == ["void"]
        assert store.view(task.id).updated_at == LATER
        assert [found.id for _, found in claim(store, "gpu")] == [run.id]
        with store:
            assert not store.replace_task(task, run=1, since=LATER, not_before=None, now=LATER)
        assert store.task(task.id).digest == "new"

    @pytest.mark.spec("L28")
    def test_a_recurring_task_is_replaced_between_two_runs(self, store: Store) -> None:
        trigger = Every(span=timedelta(hours=1), anchor=START)
        task = sample_task(state="proposed", approved_by=None, trigger=trigger)
        with store:
            assert store.add_recurring(task, ScheduleCursor(processed_until=START))
            store.ask(task, 1, (), now=START, expires_at=LATER)
        action = Shell(commands=("make",), cwd="/src", environment="none")
        edited = evolve(task, state="active", action=action, lane="gpu", approved_by="ada", approved_at=START)
        seen = store.view(task.id).updated_at
        with store:
            assert store.replace_recurring(edited, since=seen, now=LATER)
            assert not store.replace_recurring(edited, since=seen, now=LATER)
        assert store.task(task.id) == edited
        assert [each.state for each in store.approvals(task.id)] == ["void"]
        with store:
            run = store.add_run(task.id, cause="schedule", now=LATER)
            held = evolve(edited, state="proposed", approved_by=None, approved_at=None, lane="shell")
            assert store.replace_recurring(held, since=store.view(task.id).updated_at, now=LATER)
        assert claim(store, "shell") == []
        with store:
            store.replace_recurring(edited, since=store.view(task.id).updated_at, now=LATER)
        assert [found.id for _, found in claim(store, "gpu")] == [run.id]
        with store:
            assert not store.replace_recurring(edited, since=store.view(task.id).updated_at, now=LATER)

    @pytest.mark.spec("L28")
    def test_the_width_of_a_lane_is_kept_until_it_is_removed(self, store: Store) -> None:
        with store:
            store.set_lane("shell", 8, by="ada", now=START)
            store.set_lane("shell", 2, by="bob", now=LATER)
        assert store.lane_widths() == [LaneWidth(name="shell", width=2, by="bob", at=LATER)]
        with store:
            assert store.unset_lane("shell")
            assert not store.unset_lane("shell")
        assert store.lane_widths() == []

    def test_what_is_paused_or_held_does_not_load_its_lane_and_stands_last(self, store: Store) -> None:
        runs = [add(store, sample_task(f"{name}-222222")) for name in "abcde"]
        claim(store, limit=2)
        with store:
            store.pause_run(runs[0].id, state="running", by="ada", now=START)
            store.pause_run(runs[2].id, state="pending", by="ada", now=START)
            store.move_run(runs[4].id, before=runs[3].id)
        assert store.lane_load() == {"shell": (1, 2)}
        assert store.next_pending(limit=9)[0] == ["e-222222", "d-222222", "c-222222"]
        everything = [f"{name}-222222" for name in "abcdex"]
        assert store.start_order(everything) == ["e-222222", "d-222222", "c-222222"]
        assert store.start_order(["c-222222", "d-222222"]) == ["d-222222", "c-222222"]
        assert [store.lane_place(run.id) for run in runs] == [None, None, (1, 3), (3, 3), (2, 3)]
