"""Chat notices: a chat's agent learns what happened in the background exactly once, even across crashes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from errands.agents.offline import Offline
from errands.engine.agents.agent_context import RunContext
from errands.engine.notices.chat_notices import announce
from errands.model.agent.session import session_name
from errands.model.notices.delivery import FEW
from errands.model.notices.notice import Address
from errands.model.options.draft import Draft
from errands.testing.engines import TestEngine, embedded

CHAT = "chat:abc234"


def talk(engine: TestEngine, **more: str) -> RunContext:
    """Begin a conversation, and return the context of its run."""
    held = Draft(prompt="hello", agent="offline", lane="held", owner=CHAT, **more)  # type: ignore[arg-type]
    view = engine.engine.submit(held)
    return RunContext(engine.engine, view.latest.id)


async def posted_messages(engine: TestEngine, context: RunContext) -> list[str]:
    agent, session = Offline({}), context.session
    if context.messages(session) is None:
        await agent.open(context)
    await announce(engine.engine, agent, session, context)
    return list(context.messages(session) or ())


@pytest.mark.spec("N6")
@pytest.mark.trap(1, 3)
async def test_a_posted_notice_is_not_posted_again_after_a_crash(own_home: Path) -> None:
    async with embedded(str(own_home), **{"lanes.held": "0"}) as engine:
        context = talk(engine, key=CHAT)
        await engine.finished("true", owner=CHAT)
        [posted] = await posted_messages(engine, context)
        # As if the process had died in between: the message is there, the notice still waits.
        with sqlite3.connect(engine.engine.home.store) as db:
            db.execute("UPDATE outbox SET state = 'waiting' WHERE target = ?", (CHAT,))
        db.close()
        assert len(engine.engine.store.inbox(CHAT)) == 1

        assert await posted_messages(engine, context) == [posted]
        assert engine.engine.store.inbox(CHAT) == []
        assert "[notice " in posted


@pytest.mark.spec("N6")
@pytest.mark.trap(1, 3)
async def test_notices_after_a_crash_are_delivered_even_if_the_delivery_before_it_arrived(
    own_home: Path,
) -> None:
    async with embedded(str(own_home), **{"lanes.held": "0"}) as engine:
        context = talk(engine, key=CHAT)
        first = await engine.finished("true", owner=CHAT)
        [posted] = await posted_messages(engine, context)
        with sqlite3.connect(engine.engine.home.store) as db:
            db.execute("UPDATE outbox SET state = 'waiting' WHERE target = ?", (CHAT,))
        db.close()
        later = [await engine.finished("true", owner=CHAT) for _ in range(FEW + 1)]

        before, digest = await posted_messages(engine, context)
        assert before == posted
        assert first.id not in digest
        assert all(each.id in digest for each in later)
        assert engine.engine.store.inbox(CHAT) == []


@pytest.mark.spec("O12")
async def test_secrets_are_masked_in_chat_notices(own_home: Path) -> None:
    async with embedded(str(own_home), **{"lanes.held": "0"}) as engine:
        context = talk(engine, key=CHAT)
        secret = "hunter2-hunter2-hunter2"
        await engine.finished("true", owner=CHAT, env={"DB_PASSWORD": secret}, description=f"uses {secret}")

        [posted] = await posted_messages(engine, context)
        assert "hunter2" not in posted
        assert "masked" in posted


@pytest.mark.spec("N6")
async def test_only_a_conversation_gets_notices(own_home: Path) -> None:
    async with embedded(str(own_home), **{"lanes.held": "0"}) as engine:
        context = talk(engine)
        await engine.finished("true", owner=CHAT)

        assert await posted_messages(engine, context) == []
        assert len(engine.engine.store.inbox(CHAT)) == 1


@pytest.mark.spec("N6", "A8")
@pytest.mark.trap(11)
async def test_neither_its_own_calls_nor_answered_questions_are_reported(
    own_home: Path, tmp_path: Path
) -> None:
    async with embedded(str(own_home), **{"lanes.held": "0"}, yes=False) as engine:
        context = talk(engine, key=CHAT)
        mine = await engine.submit(
            "touch /nowhere/mine", owner=CHAT, parent=session_name(context.run.rpartition(".")[0])
        )
        answered = await engine.submit(f"touch {tmp_path}/answered", owner=CHAT)
        waiting = await engine.submit("touch /nowhere/waiting", owner=CHAT)
        await engine.approve(answered.id, by="ada")
        with engine.engine.store as store:
            store.add_notice(
                context.run, "completed", Address(channel="inbox", target=CHAT), body="{}",
                now=engine.engine.clock.now(),
            )  # fmt: skip
        await engine.wait(answered.id)
        posted = await posted_messages(engine, context)

        assert [
            each for each in (mine.id, answered.id, waiting.id) if f"Proposed task: {each}" in str(posted)
        ] == [waiting.id]
        assert len(posted) == 2  # the open question, and the ending of the approved task
        assert engine.engine.store.inbox(CHAT) == []
