"""The contract for a store's past: what is removed when, and the traces of runs."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from errands.model.errors import StoreUnreadable
from errands.model.record import evolve
from errands.model.rollup import rollup
from tests.contracts.store_runs import SECOND, add, claim
from tests.hand_clock import START
from tests.samples import sample_ending, sample_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store


class RetentionContract:
    """Subclass it and add a `store` fixture."""

    @pytest.mark.spec("O13")
    def test_live_tasks_are_never_removed_or_expired(self, store: Store) -> None:
        run = add(store, sample_task())
        with store:
            assert store.remove([run.task_id], now=START) == []
        assert store.expired_tasks(before=START + timedelta(days=400), limit=9) == []

    @pytest.mark.spec("O13")
    def test_a_task_of_a_parent_session_does_not_expire(self, store: Store) -> None:
        for task in (sample_task("a-222222"), sample_task("b-222222", parent="chat")):
            with store:
                store.cancel_pending(add(store, task).id, by="tester", now=START)
        with store:
            store.see_session("chat", now=START + SECOND)
        assert store.expired_tasks(before=START + SECOND, limit=9) == ["a-222222"]

    @pytest.mark.spec("O13")
    def test_earlier_runs_are_superseded_and_the_latest_never_is(self, store: Store) -> None:
        for number in range(3):
            with store:
                if number == 0:
                    run = store.add_task(sample_task())
                else:
                    store.move_task("true-222222", "reopen", now=START)
                    run = store.add_run("true-222222", cause="restart", now=START)
                assert run is not None
                store.cancel_pending(run.id, by="tester", now=START)
        old = store.superseded_runs(before=START + SECOND, limit=9)
        assert old == ["true-222222.1", "true-222222.2"]
        with store:
            store.remove_runs(old)
        assert [run.number for run in store.history("true-222222")] == [3]

    def test_the_directories_of_all_tasks_are_known(self, store: Store) -> None:
        places = {"a-222222": "/one", "b-222222": "/two", "c-222222": "/one"}
        for task_id, cwd in places.items():
            task = sample_task(task_id)
            add(store, evolve(task, action=evolve(task.action, cwd=cwd)))
        assert store.directories() == ["/one", "/two"]

    def test_environments_are_kept_while_a_task_needs_them(self, store: Store) -> None:
        task = sample_task()
        with store:
            store.add_environment("none", '{"A": "1"}')
            store.add_environment("other", '{"B": "2"}')
            store.add_task(task)
            store.purge(before=START, history_before=START)
        assert store.environment("none") == {"A": "1"}
        with pytest.raises(StoreUnreadable):
            store.environment("other")

    @pytest.mark.spec("X10")
    def test_the_tasks_a_run_launched_and_the_run_of_a_span_are_found(self, store: Store) -> None:
        add(store, sample_task("a-222222"))
        add(store, sample_task("b-222222", created_by="run a-222222.1", created_at=START + SECOND))
        add(store, sample_task("c-222222", created_by="run a-222222.1", created_at=START + SECOND))
        assert store.launched_by("a-222222.1") == ["b-222222", "c-222222"]
        assert store.launched_by("a-222222.10") == []
        traced: list[str] = []

        def ids(run_id: str, created_at: datetime) -> tuple[str, ...]:
            traced.append(run_id)
            return (f"{run_id[0]}{created_at.second}ff", f"{run_id[0]}0ee")

        later = (START + SECOND).second
        assert store.run_with_span(f"b{later}f", ids) == "b-222222.1"
        assert store.run_with_span("c0ee", ids) == "c-222222.1"
        assert store.run_with_span("d", ids) is None
        add(store, sample_task("d-222222"))
        assert store.run_with_span("d", ids) == "d-222222.1"
        assert traced == [f"{each}-222222.1" for each in "abcd"], "each run is looked at once"
        with store:
            store.cancel_pending("d-222222.1", by="me", now=START)
            store.remove(["d-222222"], now=START)
        assert store.run_with_span("d", ids) is None

    @pytest.mark.spec("X10")
    def test_runs_are_traced_in_order(self, store: Store) -> None:
        assert store.last_place() == 0
        for number, name in enumerate("abc"):
            add(store, sample_task(f"{name}-222222", created_at=START + number * SECOND))
        [(task, run)] = claim(store, limit=1)
        with store:
            store.end(run, rollup(task, run, sample_ending()), sample_ending(), summary=None, now=START)
        found = store.traced(after=0, among=(), limit=9)
        places = [place for place, _, _, _ in found]
        assert places == sorted(places)
        assert [each[1:3] for each in found] == [
            ("a-222222.1", True),
            ("b-222222.1", False),
            ("c-222222.1", False),
        ]
        assert store.live_places() == places[1:]
        assert store.last_place() == places[2]
        assert store.traced(after=places[1], among=(places[0],), limit=9) == [found[0], found[2]]
        assert store.traced(after=0, among=(), limit=1) == found[:1]
        assert store.last_place(by=START + SECOND) == places[1]
        assert store.last_place(by=START - SECOND) == 0
