"""The sender: every delivery arrives, in order, and no channel delays another."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.engine.notices.sender import GIVE_UP, Sender
from errands.model.errors import NotNow, Refused, Unacknowledged
from errands.model.notices.notice import LONGEST_BACKOFF
from errands.model.options.draft import Draft
from errands.model.text.mask import Mask
from errands.testing.engines import until
from tests.channels.outbox import Fake, Outbox, later


@pytest.mark.spec("N5")
@pytest.mark.trap(12)
async def test_a_notice_is_delivered_once_its_channel_has_taken_it(outbox: Outbox) -> None:
    channel = Fake()
    outbox.add("mail")
    await outbox.drain({"mail": channel})
    await outbox.drain({"mail": channel})

    assert len(channel.ids) == 1
    assert outbox.undelivered == []
    assert channel.is_closed


@pytest.mark.trap(13)
@pytest.mark.fault("F46")
async def test_a_channel_that_hangs_delays_no_other(outbox: Outbox) -> None:
    hung, good = Fake(), Fake()
    hung.hangs = True
    for number in range(20):
        outbox.add("hung", number)
        outbox.add("good", number)
    sender = outbox.sender({"hung": hung, "good": good}, timeout=3600.0)
    running = asyncio.create_task(sender.run())
    await until(lambda: len(good.ids) == 20)
    assert hung.taken == []
    running.cancel()
    await sender.close(within=0.01)
    assert {each.address.channel for each in outbox.undelivered} == {"hung"}


@pytest.mark.trap(13)
@pytest.mark.fault("F45")
async def test_a_channel_that_is_down_is_tried_again_with_growing_pauses(outbox: Outbox) -> None:
    bad = Fake()
    bad.error = ConnectionError("it is down")
    outbox.add("bad")
    pauses: list[float] = []
    for _ in range(14):
        await outbox.drain({"bad": bad})
        [(_, at)] = outbox.store.queues()
        pauses.append((at - outbox.clock.now()).total_seconds())
        later(outbox, pauses[-1])
    for number, pause in enumerate(pauses):
        whole = min(2.0**number, LONGEST_BACKOFF.total_seconds())
        assert 0.8 * whole <= pause <= 1.2 * whole
    assert len({pause / 2**number for number, pause in enumerate(pauses[:9])}) > 1, "there is no jitter"
    assert sum(pauses) > 3600, "an hour of silence must not kill a notice"

    bad.error = None
    await outbox.drain({"bad": bad})
    assert len(bad.ids) == 1


async def test_what_comes_later_does_not_overtake_what_failed(outbox: Outbox) -> None:
    bad = Fake()
    bad.error = ConnectionError("it is down")
    outbox.add("bad", 1)
    await outbox.drain({"bad": bad})
    bad.error = None
    outbox.add("bad", 2)
    await outbox.drain({"bad": bad})
    assert bad.taken == []

    later(outbox, 10)
    await outbox.drain({"bad": bad})
    assert [notice.run_id for delivery in bad.taken for notice in delivery.notices] == [
        "x-222222.1",
        "x-222222.2",
    ]


@pytest.mark.trap(15)
async def test_giving_up_is_visible_and_can_be_undone(outbox: Outbox) -> None:
    bad = Fake()
    bad.error = ConnectionError("it is down")
    outbox.add("bad")
    for _ in range(GIVE_UP + 3):
        await outbox.drain({"bad": bad})
        later(outbox, 3600)

    [dead] = outbox.store.undelivered(given_up=True)
    assert (dead.state, dead.attempts, dead.error) == ("dead", GIVE_UP, "it is down")

    bad.error = None
    with outbox.store:
        outbox.store.send_again(None)
    await outbox.drain({"bad": bad})
    assert bad.ids == [dead.id]
    assert outbox.undelivered == []


@pytest.mark.trap(12)
@pytest.mark.parametrize("error", [Unacknowledged("no answer"), TimeoutError()])
async def test_what_may_have_arrived_is_not_sent_again_by_itself(outbox: Outbox, error: Exception) -> None:
    channel = Fake()
    channel.error = error
    outbox.add("mail")
    await outbox.drain({"mail": channel})
    channel.error = None
    later(outbox, 7200)
    await outbox.drain({"mail": channel})

    [unknown] = outbox.store.undelivered(given_up=True)
    assert unknown.state == "unknown"
    assert channel.taken == []


@pytest.mark.fault("F7")
async def test_a_deduplicating_receiver_is_sent_the_delivery_again(outbox: Outbox) -> None:
    channel = Fake(is_deduplicating=True)
    outbox.add("mail")
    channel.error = Unacknowledged("no answer")
    await outbox.drain({"mail": channel})
    [waiting] = outbox.undelivered
    assert (waiting.state, waiting.attempts) == ("waiting", 1)
    assert "unacknowledged" in (waiting.error or "")

    channel.error = None
    later(outbox, 5)
    await outbox.drain({"mail": channel})
    assert channel.taken[0].is_repeat
    assert channel.ids == [waiting.id]


async def test_a_try_takes_no_longer_than_its_time_out(outbox: Outbox) -> None:
    hung = Fake(is_deduplicating=True)
    hung.hangs = True
    outbox.add("hung")
    await outbox.drain({"hung": hung}, timeout=0.05)
    [waiting] = outbox.undelivered
    assert "no answer within 0.05 s" in (waiting.error or "")


async def test_what_is_refused_for_good_is_dead_at_once_and_blocks_nothing(outbox: Outbox) -> None:
    class Picky(Fake):
        async def deliver(self, delivery: object) -> None:
            if not self.taken:
                self.taken = [delivery]  # type: ignore[list-item]
                raise Refused("it is too long")
            await super().deliver(delivery)  # type: ignore[arg-type]

    channel = Picky()
    for number in (1, 2):
        outbox.add("mail", number)
    await outbox.drain({"mail": channel})
    [dead] = outbox.undelivered
    assert (dead.run_id, dead.state, dead.error) == ("x-222222.1", "dead", "it is too long")
    assert channel.taken[1].notices[0].run_id == "x-222222.2"


@pytest.mark.trap(6)
async def test_a_busy_receiver_is_waited_for_but_not_forever(outbox: Outbox) -> None:
    busy = Fake()
    busy.error = NotNow("busy", after=5)
    outbox.add("screen")
    for _ in range(100):
        await outbox.drain({"screen": busy})
        later(outbox, 10)
    assert [(each.state, each.attempts) for each in outbox.undelivered] == [("waiting", 0)]
    later(outbox, 3600)
    await outbox.drain({"screen": busy})
    assert [(each.state, each.error) for each in outbox.undelivered] == [
        ("dead", "busy, for more than an hour")
    ]


async def test_a_channel_that_is_no_longer_configured_is_reported(outbox: Outbox) -> None:
    from errands.channels import make

    outbox.add("gone")
    sender = outbox.sender({})
    sender._make = lambda name: make(name, {})
    await sender.run(linger=0.0)
    [dead] = outbox.undelivered
    assert dead.state == "dead"
    assert "has no channel 'gone'" in (dead.error or "")


@pytest.mark.spec("N9")
@pytest.mark.trap(2, 10)
async def test_fifty_endings_at_once_arrive_as_one_digest_within_its_budget(outbox: Outbox) -> None:
    channel = Fake(budget=4000)
    for number in range(50):
        outbox.add("mail", 1, task=f"a-rather-long-name-{number}-222222", elapsed=1.5, summary="word " * 500)
    await outbox.drain({"mail": channel})

    from errands.model.notices.delivery import text, title

    [delivery] = channel.taken
    said = text(delivery, channel.budget)
    assert title(delivery) == "50 reports: 50 completed"
    assert len(said.encode()) <= 4000
    assert [number for number in range(50) if f"a-rather-long-name-{number}-222222" not in said] == []
    assert outbox.undelivered == []


@pytest.mark.fault("F7")
async def test_a_digest_is_the_same_delivery_when_it_is_sent_again(outbox: Outbox) -> None:
    keys: list[tuple[str, int]] = []

    class Forgetful(Fake):
        async def deliver(self, delivery: object) -> None:
            keys.append((delivery.key, len(delivery.notices)))  # type: ignore[attr-defined]
            raise Unacknowledged("it does not answer")

    channel = Forgetful(is_deduplicating=True)
    for number in range(10):
        outbox.add("mail", number)
    await outbox.drain({"mail": channel})
    for number in range(10, 20):
        outbox.add("mail", number)
    later(outbox, 5)
    await outbox.drain({"mail": channel})
    assert keys == [keys[0], keys[0]]
    assert keys[0][1] == 10


async def test_a_question_is_never_part_of_a_digest(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = Fake()
    for number in range(6):
        outbox.add("mail", number)
    outbox.add("mail", 6, state="proposed", approval=7)
    for number in range(7, 13):
        outbox.add("mail", number)
    monkeypatch.setattr("errands.engine.notices.sender.is_answered", lambda *_: False)
    await outbox.drain({"mail": channel})
    assert [(len(delivery.notices), delivery.question) for delivery in channel.taken] == [
        (6, None),
        (1, ("x-222222", 7)),
        (6, None),
    ]


@pytest.mark.spec("O12")
async def test_secrets_do_not_leave(outbox: Outbox) -> None:
    channel = Fake()
    secret = 'hunter2-hunter2-"quoted"'
    outbox.add("mail", summary=f"the password is {secret}")
    await outbox.drain({"mail": channel}, mask=lambda _: Mask({"DB_PASSWORD": secret}))
    body = json.loads(channel.taken[0].notices[0].body)
    assert "hunter2" not in body["summary"]
    assert "masked" in body["summary"]


async def test_a_clock_that_was_put_back_delays_nothing(outbox: Outbox) -> None:
    bad = Fake()
    bad.error = ConnectionError("it is down")
    outbox.add("bad")
    await outbox.drain({"bad": bad})
    bad.error = None
    outbox.clock.turn(-timedelta(days=1))
    await outbox.drain({"bad": bad})
    assert len(bad.ids) == 1


@pytest.mark.trap(11, 67)
async def test_a_question_that_was_answered_before_it_could_be_sent_is_not_sent(
    client: Engine, config_file: Path, tmp_path: Path
) -> None:
    config_file.write_text(
        '[channels.hook]\nkind = "webhook"\nurl = "http://127.0.0.1:1"\nsecret = "env:X"\n'
    )
    asking = open_engine(client.home)
    (tmp_path / "victim").touch()
    draft = Draft(command=("rm", str(tmp_path / "victim")), channels=("hook",))
    answered, open_one = asking.submit(draft), asking.submit(draft)
    asking.reject(answered.id, by="ada", door="terminal")
    channel = Fake()
    sender = Sender(asking.store, lambda _: channel, asking.clock, mask=lambda _: Mask({}))
    await sender.run(linger=0.0)
    assert [(each.notices[0].task_id, each.notices[0].event) for each in channel.taken] == [
        (open_one.id, "proposed"),
        (answered.id, "rejected"),
    ]
    asking.close()
