"""The contract for a store's tasks and runs. Subclass it and add a `store` fixture."""

from __future__ import annotations

from datetime import timedelta

import pytest

from errands.model.errors import AlreadyActive, Ambiguous, IllegalMove, NotFound
from errands.model.rollup import rollup
from errands.model.run import Run
from errands.model.task import Task
from errands.ports.store import Query
from tests.hand_clock import START
from tests.samples import sample_ending, sample_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store

SECOND = timedelta(seconds=1)


def add(store: Store, task: Task) -> Run:
    with store:
        run = store.add_task(task)
    assert run is not None
    return run


def claim(store: Store, lane: str = "shell", limit: int = 10) -> list[tuple[Task, Run]]:
    with store:
        return store.claim(lane, limit=limit, now=START)


class StoreContract:
    def test_a_task_is_read_back_as_it_was_written(self, store: Store) -> None:
        task = sample_task(batch="b", key="k", parent="chat", message="m1", priority="high")
        add(store, task)
        assert store.task(task.id) == task

    def test_a_taken_id_is_refused_and_nothing_is_overwritten(self, store: Store) -> None:
        add(store, sample_task(description="first"))
        with store:
            assert not store.add_task(sample_task(description="second"))
        assert store.task("true-222222").description == "first"

    def test_an_error_inside_a_transaction_rolls_it_back(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError):
            self._fail_halfway(store)
        with pytest.raises(NotFound):
            store.task("other-222222")
        assert store.counts()["pending"] == 1

    def test_an_inner_transaction_joins_the_outer_one(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError), store:
            self._fail_halfway(store)
        with pytest.raises(NotFound):
            store.task("true-222222")

    def _fail_halfway(self, store: Store) -> None:
        with store:
            store.add_task(sample_task())
        with store:
            store.add_task(sample_task("other-222222"))
            raise ZeroDivisionError

    @pytest.mark.spec("L6")
    def test_runs_are_claimed_by_priority_then_by_age(self, store: Store) -> None:
        for name, priority in (("a", "low"), ("b", "normal"), ("c", "high"), ("d", "normal"), ("e", "high")):
            add(store, sample_task(f"{name}-222222", priority=priority))
        assert [task.id[0] for task, _ in claim(store)] == ["c", "e", "b", "d", "a"]

    @pytest.mark.spec("L5")
    def test_a_claim_returns_at_most_the_limit_and_only_runs_of_its_lane(self, store: Store) -> None:
        for name in "abc":
            add(store, sample_task(f"{name}-222222"))
        add(store, sample_task("x-222222", lane="local"))
        assert [task.id[0] for task, _ in claim(store, limit=2)] == ["a", "b"]
        assert [task.id[0] for task, _ in claim(store)] == ["c"]

    def test_lanes_with_ready_runs_are_listed(self, store: Store) -> None:
        assert store.ready_lanes() == []
        for name, lane in (("a", "shell"), ("b", "local"), ("c", "shell"), ("d", "agent")):
            add(store, sample_task(f"{name}-222222", lane=lane))
        claim(store, "agent")
        assert store.ready_lanes() == ["local", "shell"]

    def test_a_run_is_claimed_once(self, store: Store) -> None:
        add(store, sample_task())
        assert len(claim(store)) == 1
        assert claim(store) == []

    def test_a_task_has_at_most_one_live_run(self, store: Store) -> None:
        add(store, sample_task())
        with pytest.raises(AlreadyActive), store:
            store.add_run("true-222222", cause="restart", now=START)

    @pytest.mark.spec("L7")
    def test_the_first_terminal_state_wins(self, store: Store) -> None:
        add(store, sample_task())
        [(task, run)] = claim(store)
        good, bad = sample_ending(), sample_ending(code=3)
        with store:
            assert store.end(run, rollup(task, run, good), good, summary=None, now=START)
            assert not store.end(run, rollup(task, run, bad), bad, summary=None, now=START)
        assert store.view(task.id).latest.state == "completed"
        assert store.view(task.id).latest.exit_code == 0

    def test_the_end_of_an_earlier_attempt_does_not_end_a_later_one(self, store: Store) -> None:
        add(store, sample_task())
        [(task, first)] = claim(store)
        ending = sample_ending()
        with store:
            assert store.new_attempt(first.id, attempt=2)
            assert not store.end(first, rollup(task, first, ending), ending, summary=None, now=START)
        assert store.view(task.id).latest.state == "running"
        second = store.run(first.id)
        with store:
            assert store.end(second, rollup(task, second, ending), ending, summary=None, now=START)
        assert store.view(task.id).latest.state == "completed"

    def test_attempts_are_counted_one_by_one(self, store: Store) -> None:
        run = add(store, sample_task())
        with store:
            assert not store.new_attempt(run.id, attempt=1)
        claim(store)
        with store:
            assert store.new_attempt(run.id, attempt=2, spent=1.5)
            assert not store.new_attempt(run.id, attempt=2)
            assert not store.new_attempt(run.id, attempt=4)
        assert (store.run(run.id).attempt, store.run(run.id).spent) == (2, 1.5)

    def test_the_end_of_a_run_does_not_reopen_its_task(self, store: Store) -> None:
        add(store, sample_task())
        [(task, run)] = claim(store)
        ending = sample_ending()
        with store:
            store.move_task(task.id, "cancel", now=START)
            assert store.end(run, rollup(task, run, ending), ending, summary=None, now=START)
        assert store.task(task.id).state == "cancelled"

    def test_an_ended_task_gets_no_more_runs(self, store: Store) -> None:
        add(store, sample_task())
        [(task, run)] = claim(store)
        ending = sample_ending()
        with store:
            store.end(run, rollup(task, run, ending), ending, summary=None, now=START)
        with pytest.raises(IllegalMove, match="reopen"), store:
            store.add_run(task.id, cause="restart", now=START)

    def test_silence_is_recorded_once_and_only_while_a_run_is_live(self, store: Store) -> None:
        run = add(store, sample_task())
        with store:
            assert not store.note_idle(run.id)
        claim(store)
        with store:
            assert store.note_idle(run.id)
            assert not store.note_idle(run.id)

    def test_a_running_run_can_be_neither_cancelled_as_pending_nor_skipped(self, store: Store) -> None:
        run = add(store, sample_task())
        claim(store)
        with store:
            assert not store.cancel_pending(run.id, by="tester", now=START)
            assert not store.skip_pending(run.id, reason="dependency", error="x", now=START)
        assert store.view(run.task_id).latest.state == "running"

    def test_a_stop_is_requested_once(self, store: Store) -> None:
        run = add(store, sample_task())
        claim(store)
        with store:
            assert store.request_stop(run.id, by="a", now=START)
            assert not store.request_stop(run.id, by="b", now=START)
        [stopping] = store.stopping()
        assert (stopping.id, stopping.stop_by) == (run.id, "a")

    @pytest.mark.spec("L18")
    def test_a_delayed_run_is_ready_when_it_is_due(self, store: Store) -> None:
        with store:
            store.add_task(sample_task(), not_before=START + SECOND)
            assert store.release_due(now=START) == []
        assert store.next_due("runs") == store.not_before("true-222222.1") == START + SECOND
        assert claim(store) == []
        with store:
            assert store.release_due(now=START + SECOND) == ["true-222222"]
        assert store.next_due("runs") is None
        assert store.not_before("true-222222.1") is None
        assert len(claim(store)) == 1

    @pytest.mark.spec("L14")
    def test_a_run_waits_for_all_it_depends_on(self, store: Store) -> None:
        for name in "ab":
            add(store, sample_task(f"{name}-222222", lane="local"))
        run = add(store, sample_task())
        assert not store.has_waits()
        with store:
            store.add_waits(run.id, ["a-222222", "b-222222"])
        assert store.has_waits()
        assert claim(store) == []
        assert store.dependents("a-222222") == [run.id]
        with store:
            store.release_dependents("a-222222")
        assert claim(store) == []
        with store:
            store.release_dependents("b-222222")
        assert len(claim(store)) == 1

    def test_running_runs_are_listed_with_their_processes(self, store: Store) -> None:
        first, second = add(store, sample_task("a-222222")), add(store, sample_task("b-222222"))
        with store:
            store.note_start(second.id, pid=7)
        assert store.running() == ([], [])
        claim(store, limit=1)
        with store:
            store.note_start(first.id, pid=42)
        [(task, run)], damaged = store.running()
        assert (task.id, run.pid, damaged) == ("a-222222", 42, [])
        assert store.running(["a-222222", "b-222222", "no-222222"]) == ([(task, run)], [])
        assert store.running(["b-222222"]) == store.running([]) == ([], [])
        assert store.run(second.id).pid is None, "a run that has not started has no process"

    def test_a_task_is_found_by_its_key(self, store: Store) -> None:
        run = add(store, sample_task(key="nightly"))
        assert store.id_by_key("nightly") == run.task_id
        assert store.id_by_key("weekly") is None

    def test_the_first_retrieval_of_a_result_counts(self, store: Store) -> None:
        run = add(store, sample_task())
        with store:
            store.mark_retrieved(run.id, now=START)
        assert store.view(run.task_id).latest.retrieved_at is None
        with store:
            store.cancel_pending(run.id, by="tester", now=START)
            store.mark_retrieved(run.id, now=START + SECOND)
            store.mark_retrieved(run.id, now=START + 2 * SECOND)
        assert store.view(run.task_id).latest.retrieved_at == START + SECOND

    def test_only_an_ended_task_can_be_reopened(self, store: Store) -> None:
        run = add(store, sample_task())
        with store:
            assert store.move_task(run.task_id, "reopen", now=START) is None
            store.cancel_pending(run.id, by="tester", now=START)
            assert store.move_task(run.task_id, "reopen", now=START) == "active"
            again = store.add_run(run.task_id, cause="restart", now=START)
        assert again.number == 2
        assert store.view(run.task_id).latest.id == again.id

    @pytest.mark.spec("L4")
    def test_a_unique_prefix_is_enough_and_an_ambiguous_one_is_refused(self, store: Store) -> None:
        add(store, sample_task("make-222222"))
        add(store, sample_task("make-233333"))
        assert store.resolve("make-23") == "make-233333"
        assert store.resolve("ma…233333") == store.resolve("~233333") == "make-233333"
        with pytest.raises(Ambiguous, match="make-222222, make-233333"):
            store.resolve("make-2")
        with pytest.raises(NotFound):
            store.resolve("nothing")

    @pytest.mark.spec("L4")
    def test_an_exact_name_beats_a_longer_one_and_live_tasks_beat_ended_ones(self, store: Store) -> None:
        first = add(store, sample_task("make-222222"))
        add(store, sample_task("make-docs-222222"))
        assert store.resolve("make") == "make-222222"
        add(store, sample_task("make-233333"))
        with pytest.raises(Ambiguous):
            store.resolve("make")
        with store:
            store.cancel_pending(first.id, by="tester", now=START)
        assert store.resolve("make") == "make-233333"

    @pytest.mark.spec("L13")
    def test_lists_are_newest_first_and_filtered(self, store: Store) -> None:
        for name in "abcd":
            add(store, sample_task(f"{name}-222222", batch="even" if name in "bd" else None))
        claim(store, limit=2)

        def names(**wanted: object) -> str:
            return "".join(view.id[0] for view in store.views(Query(**wanted)))  # type: ignore[arg-type]

        assert names() == "dcba"
        assert names(limit=2) == "dc"
        assert names(batch="even") == "db"
        assert names(states=("running",)) == "ba"
        assert names(states=("pending",)) == "dc"
        assert names(states=("pending",), batch="even") == "d"
        assert names(ids=("a-222222", "c-222222")) == "ca"
        assert names(before="c-222222") == "ba"

    def test_counts_follow_every_transition(self, store: Store) -> None:
        for name in "abc":
            add(store, sample_task(f"{name}-222222"))
        [(task, run)] = claim(store, limit=1)
        with store:
            store.end(run, rollup(task, run, sample_ending()), sample_ending(), summary=None, now=START)
        counts = store.counts()
        assert (counts["pending"], counts["running"], counts["completed"]) == (2, 0, 1)
        with store:
            store.remove(["a-222222"], now=START)
        assert store.counts()["completed"] == 0

    @pytest.mark.spec("X21")
    def test_pending_tasks_are_listed_in_the_order_in_which_they_start(self, store: Store) -> None:
        add(store, sample_task("slow-222222", priority="low"))
        add(store, sample_task("first-222222", batch="b"))
        add(store, sample_task("urgent-222222", priority="high"))
        with store:
            store.add_task(sample_task("later-222222"), not_before=START + timedelta(hours=2))
            store.add_task(sample_task("soon-222222", batch="b"), not_before=START + timedelta(hours=1))
        add(store, sample_task("after-222222"))
        with store:
            store.add_waits("after-222222.1", ["slow-222222"])
        add(store, sample_task("asks-222222", state="proposed"))

        ids, total = store.next_pending(limit=9)
        assert [each.removesuffix("-222222") for each in ids] == [
            "urgent", "first", "slow", "soon", "later", "after",
        ]  # fmt: skip
        assert total == 6
        assert store.next_pending(limit=2) == (["urgent-222222", "first-222222"], 6)
        assert store.next_pending(limit=9, lane="shell") == (ids, 6)
        assert store.next_pending(limit=9, lane="other") == ([], 0)
        assert store.next_pending(limit=9, batch="b") == (["first-222222", "soon-222222"], 2)
        claimed = [task.id for task, _ in claim(store, limit=2)]
        assert claimed == ids[:2], "the list and the queue disagree about what starts next"

    @pytest.mark.spec("X21")
    def test_lanes_and_live_batches_are_counted(self, store: Store) -> None:
        for name in "abc":
            add(store, sample_task(f"{name}-222222", batch="nightly"))
        add(store, sample_task("over-222222", batch="gone"))
        add(store, sample_task("f-222222", batch="opencode:ses_1:msg_1", parent="opencode:ses_1"))
        claimed = claim(store, limit=9)
        for task, run in (claimed[0], claimed[3]):
            with store:
                store.end(run, rollup(task, run, sample_ending()), sample_ending(), summary=None, now=START)
        add(store, sample_task("d-222222"))
        add(store, sample_task("e-222222", state="proposed"))

        assert store.lane_load() == {"shell": (3, 1)}
        assert store.live_batches() == {"nightly": (1, 3)}

    @pytest.mark.spec("L15")
    def test_templates_are_kept_by_name(self, store: Store) -> None:
        with store:
            store.save_template("b", "2", now=START)
            store.save_template("a", "1", now=START)
            store.save_template("a", "3", now=START)
        assert store.templates() == {"a": "3", "b": "2"}
        with store:
            store.remove_template("a")
        with pytest.raises(NotFound, match="'a'"):
            store.template("a")

    def test_the_events_of_a_task_are_its_history(self, store: Store) -> None:
        add(store, sample_task())
        [(task, run)] = claim(store)
        with store:
            store.request_stop(run.id, by="tester", now=START)
            ending = sample_ending(code=None, signal=15, stop="cancel")
            store.end(run, rollup(task, run, ending), ending, summary=None, now=START)
        assert [event.name for event in store.events(task.id)] == [
            "queued",
            "started",
            "stop requested",
            "cancelled",
        ]
