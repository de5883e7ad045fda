"""The webhook: a real server on loopback gets signed deliveries, and recognises repeats."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.channels import blocking
from errands.channels.webhook import Webhook
from errands.config.secret import signing_key
from errands.model.errors import ChannelError, NotNow, Refused, Unacknowledged
from tests.channels.deliveries import delivery, digest
from tests.channels.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def webhook(receiver: Receiver, tmp_path: Path) -> Webhook:
    (tmp_path / "secret").write_text("open sesame\n")
    return Webhook({"url": receiver.url, "secret": f"file:{tmp_path}/secret"})


@pytest.mark.spec("N2")
async def test_a_delivery_is_posted_and_signed(webhook: Webhook, receiver: Receiver) -> None:
    sent = delivery("", summary="89 passed", exit_code=0)
    await webhook.deliver(sent)
    [posted] = receiver.posted

    stamp = posted.headers["webhook-timestamp"]
    signed = f"{posted.headers['webhook-id']}.{stamp}.".encode() + posted.body
    proof = base64.b64encode(hmac.new(b"open sesame", signed, hashlib.sha256).digest()).decode()
    assert posted.headers["webhook-signature"] == f"v1,{proof}"
    assert abs(int(stamp) - time.time()) < 60
    assert posted.headers["webhook-id"] == posted.value["id"] == sent.key
    assert posted.value["consent"] is False
    assert posted.value["title"] == "pytest-222222 completed in 2.5s"
    assert "89 passed" in posted.value["text"]
    [notice] = posted.value["notices"]
    assert (notice["task"], notice["state"], notice["summary"]) == ("pytest-222222", "completed", "89 passed")


async def test_a_digest_has_the_facts_of_each(webhook: Webhook, receiver: Receiver) -> None:
    await webhook.deliver(digest("", 50))
    assert len(receiver.posted[0].value["notices"]) == 50


def test_a_secret_can_be_written_as_the_standard_has_it() -> None:
    assert signing_key("whsec_" + base64.b64encode(b"\0\1\2").decode()) == b"\0\1\2"
    assert signing_key("whsec_no base64!") == b"whsec_no base64!"
    assert signing_key("whsec_") == b"whsec_"


@pytest.mark.trap(12)
@pytest.mark.fault("F7", "F46")
@pytest.mark.parametrize("mood", ["cut", "garbage"])
async def test_a_delivery_without_an_answer_may_have_arrived(
    webhook: Webhook, receiver: Receiver, mood: str
) -> None:
    receiver.moods = [mood]  # type: ignore[list-item]
    sent = delivery("")
    with pytest.raises(Unacknowledged):
        await webhook.deliver(sent)
    await webhook.deliver(sent)
    assert len({each.headers["webhook-id"] for each in receiver.posted}) == 1


@pytest.mark.fault("F46")
async def test_a_receiver_that_hangs_is_not_waited_for_forever(
    webhook: Webhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "TIMEOUT", 0.1)
    receiver.moods = ["hang"]
    with pytest.raises(Unacknowledged, match="timed out"):
        await webhook.deliver(delivery(""))


@pytest.mark.fault("F46")
@pytest.mark.parametrize(
    ("code", "error"),
    [(500, ChannelError), (404, ChannelError), (400, Refused), (410, Refused), (429, NotNow)],
)
async def test_an_error_means_what_it_says(
    webhook: Webhook, receiver: Receiver, code: int, error: type[ChannelError]
) -> None:
    receiver.moods = [code]
    with pytest.raises(ChannelError, match=f"the server answered {code}") as caught:
        await webhook.deliver(delivery(""))
    assert type(caught.value) is error
    if isinstance(caught.value, NotNow):
        assert caught.value.after == 7


@pytest.mark.fault("F45")
async def test_a_receiver_that_is_away_never_got_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    away = Webhook({"url": "http://127.0.0.1:1/", "secret": f"file:{tmp_path}/secret"})
    with pytest.raises(ChannelError, match="cannot be reached") as caught:
        await away.deliver(delivery(""))
    assert type(caught.value) is ChannelError


def test_a_missing_secret_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK_SECRET", raising=False)
    for place, words in ((f"file:{tmp_path}/none", "cannot be read"), ("env:HOOK_SECRET", "is empty")):
        with pytest.raises(ChannelError, match=words):
            Webhook({"url": "http://127.0.0.1:1/", "secret": place})
