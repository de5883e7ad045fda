"""The contract for a store's agents: their sessions, and the prompts and answers of their runs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from errands.model.action import Prompt
from errands.model.agent.session import Exchange, Session, session_name
from errands.model.notices.notice import Address
from errands.model.record import evolve
from errands.model.rollup import rollup
from errands.ports.store import Query
from tests.contracts.store_runs import SECOND, add, claim
from tests.hand_clock import START
from tests.samples import sample_ending, sample_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store

PROMPT = Prompt(
    text="hello", agent="offline", cwd="/", environment="none", tools=("a",), budget={"requests": 3}
)


def talk(store: Store, task_id: str = "talk-222222") -> Session:
    """Add an agent task with a session."""
    add(store, sample_task(task_id, kind="agent", action=PROMPT, lane="agent"))
    session = Session(
        task_id=task_id,
        run=1,
        agent="offline",
        name=f"task:{task_id}",
        forked_from=None,
        created_at=START,
    )
    with store:
        store.add_session(session)
    return session


class SessionStoreContract:
    """Subclass it and add a `store` fixture."""

    @pytest.mark.trap(58)
    def test_a_prompt_is_read_back_as_it_was_written(self, store: Store) -> None:
        talk(store)
        assert store.task("talk-222222").action == PROMPT

    def test_messages_are_kept_in_order_and_only_appended(self, store: Store) -> None:
        session = talk(store)
        with store:
            store.add_messages(session, ["1", "2"], run=1, now=START)
            store.add_messages(session, ["3"], run=2, now=START)
        assert store.messages(session) == ["1", "2", "3"]
        assert store.session("talk-222222") == session
        assert store.session(name="task:talk-222222") == session

    def test_a_name_refers_to_its_latest_session(self, store: Store) -> None:
        first = talk(store)
        second = evolve(first, run=2)
        with store:
            store.add_messages(first, ["old"], run=1, now=START)
            store.add_session(second)
        assert store.session(name=first.name) == second
        assert store.messages(second) == []
        assert store.messages(first) == ["old"]
        assert store.sessions(limit=10) == [second, first]

    @pytest.mark.spec("S8")
    def test_a_conversation_that_came_with_a_task_is_found_by_its_name_alone(self, store: Store) -> None:
        own = talk(store)
        given = evolve(own, run=0, name="history:1")
        with store:
            store.add_session(given)
            store.add_messages(given, ["hello"], run=0, now=START)
        assert store.session(name="history:1") == given
        assert store.messages(given) == ["hello"]
        assert store.session(own.task_id) == own
        assert store.sessions(limit=10) == [own]

    def test_a_session_that_is_gone_has_no_messages(self, store: Store) -> None:
        session = talk(store)
        with store:
            store.add_messages(session, ["1"], run=1, now=START)
            store.mark_session_gone(session, now=START + SECOND)
        found = store.session("talk-222222")
        assert found is not None
        assert found.gone_at == START + SECOND
        assert store.messages(session) == []

    def test_the_prompt_of_a_run_is_stored_once(self, store: Store) -> None:
        talk(store)
        with store:
            store.add_exchange("talk-222222.1", "first", is_awaited=True)
            store.add_exchange("talk-222222.1", "second")
            store.note_activity("talk-222222.1", usage={"requests": 2}, tools=["a", "b"], now=START)
            store.note_activity("talk-222222.1", usage={"requests": 1}, tools=["b"], now=START + SECOND)
        exchange = store.exchange("talk-222222.1")
        assert exchange == Exchange(
            text="first", usage={"requests": 3}, tools=("b",), activity_at=START + SECOND
        )
        assert store.is_awaited("talk-222222.1")
        view = store.view("talk-222222").agent
        assert view is not None
        assert view.usage == {"requests": 3}

    def test_the_last_answer_is_that_of_the_latest_completed_run(self, store: Store) -> None:
        talk(store)
        assert store.last_answer("talk-222222") is None
        for number, (prompt, answer, code) in enumerate([("one?", "1", 0), ("two?", "2", 3)], start=1):
            with store:
                if number > 1:
                    store.move_task("talk-222222", "reopen", now=START)
                    store.add_run("talk-222222", cause="resume", now=START)
                store.add_exchange(f"talk-222222.{number}", prompt)
                store.note_answer(f"talk-222222.{number}", answer)
            [(task, run)] = claim(store, "agent")
            ending = sample_ending(code=code)
            with store:
                store.end(run, rollup(task, run, ending), ending, summary=None, now=START)
        assert store.last_answer("talk-222222") == "1"
        assert [(number, each.text, each.answer) for number, each in store.exchanges("talk-222222")] == [
            (1, "one?", "1"),
            (2, "two?", "2"),
        ]

    @pytest.mark.spec("S7")
    def test_a_caller_that_blocks_until_a_run_ends_is_recorded(self, store: Store) -> None:
        talk(store)
        with store:
            store.set_awaited("talk-222222.1", "what?")
        assert store.is_awaited("talk-222222.1")
        with store:
            store.add_exchange("talk-222222.1", "hello")
            store.set_awaited("talk-222222.1", None)
        assert not store.is_awaited("talk-222222.1")
        with store:
            store.set_awaited("talk-222222.1", "something else")
        assert store.is_awaited("talk-222222.1")
        exchange = store.exchange("talk-222222.1")
        assert exchange is not None
        assert exchange.text == "what?"

    def test_only_running_runs_can_wait(self, store: Store) -> None:
        talk(store)
        with store:
            store.add_exchange("talk-222222.1", "hello")
            store.set_waiting("talk-222222.1", "approval")
        assert store.waiting_runs() == {}
        claim(store, "agent")
        assert store.waiting_runs() == {"talk-222222.1": "approval"}
        with store:
            store.note_answer("talk-222222.1", "done")
        assert store.waiting_runs() == {}
        answered = store.exchange("talk-222222.1")
        assert answered is not None
        assert answered.answer == "done"

    def test_an_acknowledged_notice_is_never_handed_over(self, store: Store) -> None:
        talk(store)
        inbox = Address(channel="inbox", target="user")
        with store:
            store.add_notice(
                "talk-222222.1", "completed", inbox, body="{}", now=START, not_before=START + SECOND
            )
            assert store.take_inbox("user", reader="me", now=START, limit=9) == []
            store.acknowledge("talk-222222.1", place="user", reader="me", now=START)
            assert store.take_inbox("user", reader="me", now=START + 2 * SECOND, limit=9) == []

    @pytest.mark.spec("S16")
    def test_what_an_agent_started_is_kept_until_another_run_of_it_follows(self, store: Store) -> None:
        talk(store)
        started = {"parent": "task:talk-222222", "created_by": "run talk-222222.1"}
        add(store, sample_task("child-222222", **started))
        assert store.live_children("task:talk-222222") == ["child-222222.1"]
        with store:
            store.cancel_pending("child-222222.1", by="me", now=START)
            store.cancel_pending("talk-222222.1", by="me", now=START)
        assert store.live_children("task:talk-222222") == []
        late = START + timedelta(days=1)
        assert store.expired_tasks(before=late, limit=9) == ["talk-222222"]
        with store:
            store.move_task("talk-222222", "reopen", now=START)
            store.add_run("talk-222222", cause="restart", now=START)
        assert store.expired_tasks(before=late, limit=9) == ["child-222222"]

    @pytest.mark.spec("S16")
    def test_the_commands_of_an_agent_are_removed_with_it_and_what_else_it_started_follows(
        self, store: Store
    ) -> None:
        talk(store)
        started = {"parent": "task:talk-222222", "created_by": "run talk-222222.1"}
        add(store, sample_task("command-222222", key="talk-222222.1:call", **started))
        add(store, sample_task("other-222222", **started))
        with store:
            for each in ("talk", "command", "other"):
                store.cancel_pending(f"{each}-222222.1", by="me", now=START)
            assert store.remove(["talk-222222"], now=START) == ["talk-222222.1", "command-222222.1"]
        assert [view.id for view in store.views(Query())] == ["other-222222"]
        assert store.expired_tasks(before=START + SECOND, limit=9) == ["other-222222"]

    def test_the_commands_of_agents_can_be_left_out_of_a_list(self, store: Store) -> None:
        talk(store)
        made = {"key": "talk-222222.1:call", "created_by": "run talk-222222.1"}
        add(store, sample_task("a-222222", parent="task:talk-222222", **made))
        made["key"] = "talk-222222.1:call.1"
        add(store, sample_task("b-222222", parent="chat:1", owner="chat:1", **made))
        add(store, sample_task("c-222222", key="talk-222222.1:call-2", created_by="ada"))
        assert [view.id for view in store.views(Query(with_commands=False))] == [
            "c-222222",
            "b-222222",
            "talk-222222",
        ]
        assert {view.id: view.agent_task for view in store.views(Query())} == {
            "a-222222": "talk-222222",
            "b-222222": None,
            "c-222222": None,
            "talk-222222": None,
        }

    def test_the_backend_session_of_a_removed_task_is_remembered_until_it_is_dropped(
        self, store: Store
    ) -> None:
        session = talk(store)
        with store:
            store.add_session(evolve(session, name="ses_1"))
            store.cancel_pending("talk-222222.1", by="me", now=START)
        assert store.orphan_sessions(now=START) == []
        with store:
            store.remove(["talk-222222"], now=START)
        (left,) = store.orphan_sessions(now=START)
        assert (left.agent, left.name, left.tries) == (session.agent, "ses_1", 0)
        with store:
            store.retry_orphan(left, at=START + SECOND)
        assert store.orphan_sessions(now=START) == []
        assert [each.tries for each in store.orphan_sessions(now=START + SECOND)] == [1]
        with store:
            store.retry_orphan(left, at=None)
        assert store.orphan_sessions(now=START + SECOND) == []

    def test_a_session_kept_in_the_store_leaves_no_orphan(self, store: Store) -> None:
        session = talk(store)
        with store:
            store.add_session(evolve(session, name=session_name(session.task_id)))
            store.cancel_pending("talk-222222.1", by="me", now=START)
            store.remove(["talk-222222"], now=START)
        assert store.orphan_sessions(now=START) == []

    @pytest.mark.spec("S16")
    def test_a_parent_session_keeps_its_tasks_until_it_ends(self, store: Store) -> None:
        add(store, sample_task("child-222222", parent="chat:abc234"))
        late = START + timedelta(days=1)
        with store:
            store.cancel_pending("child-222222.1", by="me", now=START)
            store.see_session("chat:abc234", now=late)
        assert store.expired_tasks(before=late, limit=9) == []
        with store:
            store.end_session("chat:abc234", now=late)
        assert store.expired_tasks(before=late, limit=9) == ["child-222222"]
        with store:
            store.see_session("chat:abc234", now=late)
        assert store.expired_tasks(before=late, limit=9) == []

    @pytest.mark.spec("S16")
    def test_a_parent_session_that_was_not_seen_since_keeps_nothing(self, store: Store) -> None:
        add(store, sample_task("child-222222", parent="chat:abc234"))
        with store:
            store.cancel_pending("child-222222.1", by="me", now=START - SECOND)
        assert store.expired_tasks(before=START, limit=9) == []
        assert store.expired_tasks(before=START + SECOND, limit=9) == ["child-222222"]

    @pytest.mark.spec("S16")
    def test_a_task_started_after_its_session_ended_does_not_reopen_it(self, store: Store) -> None:
        with store:
            store.end_session("chat:abc234", now=START)
        add(store, sample_task("child-222222", parent="chat:abc234", created_at=START + SECOND))
        with store:
            store.cancel_pending("child-222222.1", by="me", now=START)
        assert store.expired_tasks(before=START + SECOND, limit=9) == ["child-222222"]
