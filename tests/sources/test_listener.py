"""The listener: events are stored once, failures are visible, and no source harms another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from errands.engine.engine import Engine
from errands.engine.triggers import listener as listening
from errands.engine.triggers.listener import MOST_WAITING, Listener
from errands.engine.triggers.source_context import WatchContext
from errands.model.errors import SourceError
from errands.model.notices.notice import Notice
from errands.model.schedule.watch import Watch
from errands.model.trigger import On
from errands.ports.source import Observation, SourceEvent
from errands.runners.watched_command import run_watched
from errands.testing.engines import until
from tests.sources.watches import check_books, watching


class Scripted:
    """A source that the test controls, and that remembers what it was opened with."""

    def __init__(self) -> None:
        self.opened: list[str | None] = []
        self.closed = 0
        self._script: asyncio.Queue[Observation | Exception] = asyncio.Queue()

    def say(self, baseline: str, *texts: str, **more: object) -> None:
        events = tuple(SourceEvent(text=each, **more) for each in texts)  # type: ignore[arg-type]
        self._script.put_nowait(Observation(baseline=baseline, events=events))

    def fail(self, error: Exception) -> None:
        self._script.put_nowait(error)

    async def open(self, baseline: str | None) -> None:
        self.opened.append(baseline)

    async def observe(self) -> AsyncIterator[Observation]:
        while True:
            said = await self._script.get()
            if isinstance(said, Exception):
                raise said
            yield said

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "FIRST_BACKOFF", 0.01)
    monkeypatch.setattr(listening, "LONGEST_BACKOFF", 0.05)
    monkeypatch.setattr(listening, "LINGER", 0.05)
    monkeypatch.setattr(listening, "TICK", 0.05)


@asynccontextmanager
async def listened(client: Engine, sources: dict[str, Scripted]) -> AsyncIterator[asyncio.Task[None]]:
    def make(trigger: On, context: WatchContext) -> Scripted:
        return sources[trigger.subject]

    listener = Listener(client, make, run_watched)
    running = asyncio.ensure_future(listener.run())
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await listener.close()


def submitted(client: Engine, project: Path, subject: str = "one") -> str:
    return client.submit(watching(project, f"file:{subject}")).id


def watch_of(client: Engine, task_id: str) -> Watch:
    watch = client.store.watch(task_id)
    assert watch is not None
    return watch


def notices(client: Engine) -> list[Notice]:
    return client.take_notices("user", reader="test")


@pytest.mark.spec("T11")
async def test_a_look_is_written_down_with_what_it_found(client: Engine, project: Path) -> None:
    task_id, source = submitted(client, project), Scripted()
    async with listened(client, {"one": source}):
        source.say("seen", "it rains")
        await until(lambda: client.store.waiting_signals(task_id)[0] == 1)

        watch = watch_of(client, task_id)
        assert (watch.baseline, watch.health, watch.failures) == ("seen", "well", 0)
        assert watch.checked_at is not None
        cursor = client.store.cursor(task_id)
        assert cursor is not None
        assert cursor.next_at is not None
    assert (source.opened, source.closed) == ([None], 1)


@pytest.mark.spec("T11")
@pytest.mark.trap(57)
async def test_a_look_that_finds_nothing_asks_for_no_run(client: Engine, project: Path) -> None:
    task_id, source = submitted(client, project), Scripted()
    async with listened(client, {"one": source}):
        source.say("seen")
        await until(lambda: watch_of(client, task_id).baseline == "seen")
        first = watch_of(client, task_id).checked_at
        source.say("seen")
        await until(lambda: watch_of(client, task_id).checked_at != first)

    cursor = client.store.cursor(task_id)
    assert cursor is not None
    assert cursor.next_at is None
    assert client.store.history(task_id) == ()


@pytest.mark.fault("F7")
async def test_an_event_reported_twice_is_stored_once(client: Engine, project: Path) -> None:
    task_id, source = submitted(client, project), Scripted()
    async with listened(client, {"one": source}):
        source.say("a", "delivered", key="1")
        source.say("b", "delivered again", key="1")
        await until(lambda: watch_of(client, task_id).baseline == "b")

    assert [json.loads(each.body)["text"] for each in client.store.signals(task_id)] == ["delivered"]


@pytest.mark.spec("T11")
@pytest.mark.trap(55)
async def test_a_failing_watch_reports_the_failure_and_the_recovery(client: Engine, project: Path) -> None:
    task_id, source = submitted(client, project), Scripted()
    async with listened(client, {"one": source}):
        for _ in range(3):
            source.fail(SourceError("the place is gone"))
        await until(lambda: watch_of(client, task_id).failures == 3)
        watch = watch_of(client, task_id)
        assert (watch.health, watch.error) == ("failing", "the place is gone")
        (told,) = notices(client)
        assert "its watch fails: the place is gone" in told.body

        source.say("seen")
        await until(lambda: watch_of(client, task_id).health == "well")
        (told,) = notices(client)
        assert "its watch works again" in told.body
    assert watch_of(client, task_id).error is None


async def test_a_source_that_falls_to_pieces_harms_no_other(client: Engine, project: Path) -> None:
    bad, good = Scripted(), Scripted()
    ids = submitted(client, project, "bad"), submitted(client, project, "good")
    async with listened(client, {"bad": bad, "good": good}):
        bad.fail(ZeroDivisionError("division by zero"))
        await until(lambda: watch_of(client, ids[0]).failures == 1)
        good.say("seen", "it rains")
        await until(lambda: client.store.waiting_signals(ids[1])[0] == 1)

        bad.say("seen")
        await until(lambda: watch_of(client, ids[0]).health == "well")


async def test_what_is_the_task_s_own_doing_has_a_record_and_no_run(client: Engine, project: Path) -> None:
    task_id, source = submitted(client, project), Scripted()
    async with listened(client, {"one": source}):
        source.say("a", "own", is_own=True)
        source.say("b", "by way of another", chain=("other-7k2m4x", task_id))
        await until(lambda: watch_of(client, task_id).baseline == "b")

    records = client.store.slots(task_id)
    assert [each.outcome for each in records] == ["skipped", "skipped"]
    assert "by way of other-7k2m4x" in records[0].reason
    check_books(client, task_id)


async def test_more_than_anybody_can_take_is_turned_away_and_found_again(
    client: Engine, project: Path
) -> None:
    task_id, source = submitted(client, project), Scripted()
    async with listened(client, {"one": source}):
        source.say("full", *(str(number) for number in range(MOST_WAITING)))
        source.say("too much", "one more")
        await until(lambda: watch_of(client, task_id).health == "broken")
        assert watch_of(client, task_id).baseline == "full"
        with client.store:
            client.store.assign_signals(task_id, run=0)

        await until(lambda: source.opened[-1] == "full")  # it is opened with what was remembered
        source.say("too much", "one more")
        await until(lambda: client.store.waiting_signals(task_id)[0] == 1)
        assert watch_of(client, task_id).health == "well"


async def test_a_body_that_is_too_long_is_cut(client: Engine, project: Path) -> None:
    task_id, source = submitted(client, project), Scripted()
    async with listened(client, {"one": source}):
        source.say("a", "long", facts={"payload": "x" * 100_000})
        await until(lambda: client.store.waiting_signals(task_id)[0] == 1)

    body = json.loads(client.store.signals(task_id)[0].body)
    assert body["truncated"] is True
    assert len(body["beginning"]) == 16_000


async def test_a_source_says_nothing_about_itself(client: Engine, project: Path) -> None:
    task_id, source = submitted(client, project), Scripted()
    async with listened(client, {"one": source}):
        source.say("a", "true words", facts={"text": "other words", "source": "elsewhere"})
        await until(lambda: client.store.waiting_signals(task_id)[0] == 1)

    body = json.loads(client.store.signals(task_id)[0].body)
    assert (body["text"], body["source"]) == ("true words", "file")


async def test_it_ends_when_nothing_is_watched_any_more(client: Engine, project: Path) -> None:
    task_id, source = submitted(client, project), Scripted()
    async with listened(client, {"one": source}) as running:
        source.say("seen")
        await until(lambda: watch_of(client, task_id).baseline == "seen")
        client.cancel([task_id])
        source.say("unseen", "too late")

        async with asyncio.timeout(60):
            await running
    assert client.store.signals(task_id) == []
    assert watch_of(client, task_id).baseline == "seen"
