"""The contract for a store's approvals. Subclass it beside `StoreContract` and add a `store` fixture."""

from __future__ import annotations

from datetime import timedelta

import pytest

from errands.model.approval import Approval, evidence_of
from errands.model.errors import NotFound
from errands.model.record import evolve
from errands.model.rollup import rollup
from errands.model.run import Run
from errands.model.states import OPEN
from errands.model.task import Task
from errands.model.verdict import Reason
from errands.ports.store import Query
from tests.contracts.store_runs import SECOND, add, claim
from tests.hand_clock import START
from tests.samples import sample_ending, sample_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store


def propose(store: Store, id: str = "true-222222", within: timedelta = SECOND) -> tuple[Run, Approval]:
    task = sample_task(id, state="proposed", verdict="ask", digest="d")
    run = add(store, task)
    reason = Reason(text="deletes x; cannot be undone", undo="no", kind="delete")
    with store:
        return run, store.ask(task, 1, [reason], now=START, expires_at=START + within)


class ApprovalContract:
    @pytest.mark.spec("A4", "D1")
    def test_a_proposed_task_is_held_until_it_is_granted(self, store: Store) -> None:
        run, question = propose(store)
        assert (claim(store), store.ready_lanes()) == ([], [])
        assert (store.view(run.task_id).state, store.view(run.task_id).latest.state) == (
            "proposed",
            "pending",
        )
        assert store.question(run.task_id) == question
        assert store.approvals(run.task_id) == [question]
        assert (store.counts()["proposed"], store.counts()["pending"]) == (1, 0)
        with store:
            assert store.answer(question.id, "granted", by="ada", door="web", now=START)
            store.grant(run.task_id, by="ada", door="web", now=START)
        [(task, _)] = claim(store)
        assert (task.approved_by, task.approved_at, task.door) == ("ada", START, "web")
        assert store.question(run.task_id) is None

    @pytest.mark.spec("A10")
    @pytest.mark.trap(67)
    def test_a_question_is_answered_once_and_keeps_its_answer(self, store: Store) -> None:
        run, question = propose(store)
        with store:
            assert store.answer(question.id, "refused", by="ada", door="web", now=START, note="no")
            assert not store.answer(question.id, "granted", by="bob", door="cli", now=START)
            assert store.reject_pending(run.id, why="rejected by ada", now=START)
        [answered] = store.approvals()
        assert (answered.state, answered.by, answered.door, answered.note) == ("refused", "ada", "web", "no")
        assert (store.view(run.task_id).state, store.view(run.task_id).latest.state) == (
            "rejected",
            "cancelled",
        )

    @pytest.mark.spec("A7")
    def test_an_answer_outlives_its_task(self, store: Store) -> None:
        run, question = propose(store)
        with store:
            store.answer(question.id, "granted", by="ada", door="web", now=START, note="fine")
            store.grant(run.task_id, by="ada", door="web", now=START)
        [(task, started)] = claim(store)
        ending = sample_ending(code=3)
        with store:
            store.end(started, rollup(task, started, ending), ending, summary=None, now=START)
        [before] = store.audit()
        with store:
            store.remove([run.task_id], now=START + SECOND)
        assert store.approvals() == []
        assert store.audit() == store.audit(run.task_id) == [evolve(before, is_gone=True)]
        assert (before.command, before.cwd, before.outcome, before.exit_code) == ("true", "/", "failed", 3)
        assert store.resolve_removed("true") == run.task_id
        assert store.resolve_removed(f"t~{run.task_id[-6:]}") == run.task_id
        with pytest.raises(NotFound):
            store.resolve_removed("false")
        with store:
            store.purge(before=START, history_before=START + SECOND)
        assert len(store.audit()) == 1
        with store:
            store.purge(before=START, history_before=START + 2 * SECOND)
        assert store.audit() == []

    @pytest.mark.spec("A7", "A8")
    def test_the_audit_of_a_task_includes_what_its_runs_started(self, store: Store) -> None:
        for id, by in (("a-222222", "ada"), ("b-222222", "run a-222222.1"), ("c-222222", "run b-222222.2")):
            task = sample_task(id, created_by=by, digest="d")
            run = add(store, task)
            with store:
                store.ask(task, 1, [], now=START, expires_at=START + SECOND, granted="once")
                store.cancel_pending(run.id, by="ada", now=START)

        def names(of: str | None = None, limit: int | None = None) -> str:
            return "".join(each.approval.task_id[0] for each in store.audit(of, limit=limit))

        for gone in ((), ("b-222222",), ("c-222222", "a-222222")):
            with store:
                store.remove(gone, now=START)
            assert (names(), names(limit=2)) == ("cba", "cb")
            assert [names(f"{each}-222222") for each in "abc"] == ["cba", "cb", "c"]

    @pytest.mark.spec("A14")
    def test_an_approval_for_a_task_covers_what_its_runs_started_until_it_is_withdrawn(
        self, store: Store
    ) -> None:
        started = (("a-222222", "ada"), ("b-222222", "run a-222222.1"), ("c-222222", "run a-2222222.1"))
        for id, by in started:
            task = sample_task(id, created_by=by, digest=id)
            add(store, task)
            with store:
                store.ask(task, 1, [], now=START, expires_at=START + SECOND, granted="task")
                store.ask(task, 1, [], now=START, expires_at=START + SECOND, granted="once")
        run, question = propose(store)
        with store:
            store.answer(question.id, "refused", by="ada", door="web", now=START, scope="task")

        assert [each.digest for each in store.task_approvals("a-222222")] == ["a-222222", "b-222222"]
        assert store.task_approvals(run.task_id) == []
        with store:
            assert store.withdraw_task_approvals("a-222222") == 2
        assert store.task_approvals("a-222222") == []
        assert [each.scope for each in store.approvals("c-222222")] == ["task", "once"]

    @pytest.mark.spec("D1")
    def test_rejected_tasks_are_listed_only_on_request(self, store: Store) -> None:
        run, _ = propose(store)
        assert [view.id for view in store.views(Query())] == [run.task_id]
        assert store.views(Query(states=("pending",))) == []
        assert [view.id for view in store.views(Query(states=OPEN))] == [run.task_id]
        with store:
            store.reject_pending(run.id, why="no", now=START)
        assert store.views(Query()) == store.views(Query(states=("cancelled",))) == []
        assert [view.id for view in store.views(Query(states=("rejected",)))] == [run.task_id]
        assert [view.id for view in store.views(Query(ids=(run.task_id,)))] == [run.task_id]

    @pytest.mark.spec("A10")
    def test_a_run_that_the_eligibility_check_refuses_is_not_claimed(self, store: Store) -> None:
        for name, verdict, evidence in (("a", "auto", None), ("b", "ask", None), ("c", "auto", "{}")):
            add(store, sample_task(f"{name}-222222", verdict=verdict, evidence=evidence))
        asked: list[str] = []

        def fit(task: Task, run: Run) -> bool:
            asked.append(task.id[0])
            store.hold(run, now=START)
            return False

        with store:
            claimed = store.claim("shell", limit=10, now=START, fit=fit)
        assert ([task.id[0] for task, _ in claimed], asked) == (["a"], ["b", "c"])
        assert claim(store) == []
        assert {view.state for view in store.views(Query(states=("proposed",)))} == {"proposed"}

    def test_an_ended_task_is_neither_held_nor_judged_again(self, store: Store) -> None:
        run, _ = propose(store)
        with store:
            store.reject_pending(run.id, why="no", now=START)
            assert not store.hold(run, now=START)
            assert not store.rejudge(evolve(store.task(run.task_id), state="active"), now=START)
        assert store.task(run.task_id).state == "rejected"

    @pytest.mark.spec("A10")
    def test_the_next_eligible_run_is_claimed_however_many_are_ineligible(self, store: Store) -> None:
        for number in range(1200):
            add(store, sample_task(f"a{number}-222222", verdict="ask"))
        add(store, sample_task("b-222222"))

        def fit(task: Task, run: Run) -> bool:
            store.hold(run, now=START)
            return False

        with store:
            [(task, _)] = store.claim("shell", limit=1, now=START, fit=fit)
        assert task.id == "b-222222"

    @pytest.mark.spec("A10")
    def test_holding_a_run_voids_its_answers_and_makes_the_next_claim_a_new_attempt(
        self, store: Store
    ) -> None:
        run, question = propose(store)
        with store:
            store.answer(question.id, "granted", by="ada", door="web", now=START)
            store.grant(run.task_id, by="ada", door="web", now=START)
        [(_, started)] = claim(store)
        with store:
            store.hold(started, now=START)
        assert (store.approvals(run.task_id)[0].state, store.view(run.task_id).approved_by) == ("void", None)
        assert claim(store) == []
        with store:
            store.grant(run.task_id, by="ada", door="web", now=START)
        [(_, again)] = claim(store)
        assert (started.attempt, again.attempt) == (1, 2)

    @pytest.mark.spec("A10")
    def test_damaged_evidence_fails_alone(self, store: Store) -> None:
        for name, evidence in (("a", "nonsense"), ("b", "[]"), ("c", '{"files": 3}')):
            add(store, sample_task(f"{name}-222222", evidence=evidence))
        add(store, sample_task("d-222222"))

        def fit(task: Task, run: Run) -> bool:
            return evidence_of(task) is not None

        assert store.damaged() == ["a-222222", "b-222222", "c-222222"]
        with store:
            claimed = store.claim("shell", limit=10, now=START, fit=fit)
        assert [task.id for task, _ in claimed] == ["d-222222"]
        assert store.view("a-222222").latest.state == "failed"
        assert "is damaged" in (store.view("c-222222").latest.error or "")

    @pytest.mark.spec("A7")
    def test_invalid_unicode_is_stored_with_replacement_characters(self, store: Store) -> None:
        run, question = propose(store)
        with store:
            store.add_event(run.task_id, "drifted", run=1, now=START, detail="\udcff.sh has changed")
            store.answer(question.id, "refused", by="\udcff", door="cli", now=START, note="\udcff")
            store.add_standing_approval(sample_task(digest="digest"), by="\udcff", now=START)
            store.grant(run.task_id, by="\udcff", door="cli", now=START)
            store.reject_pending(run.id, why="rejected: \udcff", now=START)
        [answered] = store.approvals()
        [standing] = store.standing_approvals("digest")
        assert (answered.by, answered.note, standing.by) == ("\ufffd", "\ufffd", "\ufffd")
        assert store.view(run.task_id).latest.error == "rejected: \ufffd"
        assert "\ufffd.sh has changed" in [event.detail for event in store.events(run.task_id)]

    @pytest.mark.spec("A10")
    def test_questions_expire_in_order(self, store: Store) -> None:
        assert store.next_due("questions") is None
        propose(store, "b-222222", within=2 * SECOND)
        propose(store, "a-222222", within=SECOND)
        assert store.next_due("questions") == START + SECOND
        assert [each.task_id for each in store.approvals(expired_by=START + SECOND)] == ["a-222222"]
        assert [each.task_id for each in store.approvals(expired_by=START + 3 * SECOND)] == [
            "a-222222",
            "b-222222",
        ]

    def test_the_question_of_a_cancelled_task_is_void(self, store: Store) -> None:
        run, question = propose(store)
        with store:
            assert store.cancel_pending(run.id, by="ada", now=START)
            assert not store.answer(question.id, "granted", by="bob", door="cli", now=START)
        assert store.view(run.task_id).task_state == "cancelled"
        assert [each.state for each in store.approvals(run.task_id)] == ["void"]

    def test_a_standing_approval_is_kept(self, store: Store) -> None:
        with store:
            store.add_standing_approval(sample_task(digest="digest"), by="ada", now=START)
        assert store.standing_approvals("digest") == store.standing_approvals()
        assert store.standing_approvals("other") == []
        assert [(each.command, each.by, each.at) for each in store.standing_approvals()] == [
            ("true", "ada", START)
        ]
        with store:
            assert store.remove_standing_approval("digest")
            assert not store.remove_standing_approval("digest")
        assert store.standing_approvals("digest") == []

    @pytest.mark.spec("D4")
    def test_a_rejection_is_known_after_its_task_is_removed(self, store: Store) -> None:
        _, question = propose(store)
        _, other = propose(store, "false-222222")
        with store:
            assert store.answer(question.id, "refused", by="ada", door="cli", now=START)
            assert store.answer(other.id, "granted", by="ada", door="cli", now=START)
            store.reject_pending("true-222222.1", why="no", now=START)
            store.remove(["true-222222"], now=START)
        [known] = store.recent_refusals(since=START - SECOND)

        assert known.split("\n")[-1] == "true"
        assert store.recent_refusals(since=START) == []
        with store:
            store.purge(before=START + SECOND, history_before=START)
        assert store.recent_refusals(since=START - SECOND) == []
