"""Webhooks over real HTTP: a signed delivery counts once, and any other is not even read."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from errands.engine.engine import Engine
from errands.model.errors import SourceError
from errands.sources import receiver
from errands.sources.receiver import IncomingRequest, Inlet
from tests.engine.daemons import Daemons, eventually
from tests.sources.fake_github import FakeGitHub
from tests.sources.posting import post, signed
from tests.sources.test_contracts import free_port
from tests.sources.watches import check_books, looks, ran, watching

SECRET = "a secret of some length"
SIGNED = b"POST /hooks/deploy HTTP/1.1\r\nWebhook-Signature: x\r\n"
CONTENT = b'{"type": "deployed", "version": 7}'


class Hook:
    """A webhook that is open, and what it took."""

    def __init__(self, place: str) -> None:
        self.url = f"http://{place}/hooks/deploy"
        self.place = place
        self.taken: list[IncomingRequest] = []

    async def post(self, content: bytes, headers: Mapping[str, str], **more: Any) -> tuple[int, str]:
        return await asyncio.to_thread(post, self.url, content, headers, **more)


@pytest.fixture
async def hook(tmp_path: Path) -> AsyncIterator[Hook]:
    (tmp_path / "secret").write_text(SECRET)
    hook = Hook(f"127.0.0.1:{free_port()}")
    inlet = Inlet("deploy", {"secret": f"file:{tmp_path}/secret", "listen": hook.place})
    await inlet.open()

    async def take() -> None:
        async for each in inlet.deliveries(60):
            assert each is not None
            hook.taken.append(each)

    taking = asyncio.ensure_future(take())
    yield hook
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    await inlet.close()


@pytest.mark.spec("T6")
async def test_what_is_signed_is_taken(hook: Hook) -> None:
    assert await hook.post(CONTENT, signed(SECRET, "one", CONTENT)) == (202, "taken")

    assert hook.taken == [IncomingRequest(key="one", event="", content=CONTENT)]


@pytest.mark.fault("F49")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        signed("another secret", "one", CONTENT),
        signed(SECRET, "one", b"another content"),
        {**signed(SECRET, "one", CONTENT), "webhook-id": "two"},
        {**signed(SECRET, "one", CONTENT), "webhook-signature": ""},
        {**signed(SECRET, "one", CONTENT), "webhook-signature": "v1,"},
        {**signed(SECRET, "one", CONTENT), "webhook-timestamp": "now"},
        {**signed(SECRET, "", CONTENT)},
    ],
    ids=["none", "wrong secret", "other content", "other id", "empty", "no mark", "no time", "no id"],
)
async def test_what_is_not_signed_as_it_should_be_is_not_read(hook: Hook, headers: dict[str, str]) -> None:
    code, _ = await hook.post(CONTENT, headers)

    assert (code, hook.taken) == (401, [])


@pytest.mark.fault("F49")
@pytest.mark.parametrize("off", [-301, 301])
async def test_what_is_old_or_from_the_future_is_refused(hook: Hook, off: int) -> None:
    headers = signed(SECRET, "one", CONTENT, at=time.time() + off)

    code, said = await hook.post(CONTENT, headers)

    assert (code, hook.taken) == (401, [])
    assert "too old" in said


@pytest.mark.fault("F49")
async def test_what_is_too_large_is_refused_before_it_is_sent(hook: Hook) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(hook.place.rpartition(":")[2]))
    writer.write(SIGNED + b"Content-Length: 1000000000\r\n\r\n")
    answer = await reader.read()
    writer.close()

    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.fault("F49")
@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"POST /hooks/deploy HTTP/1.1\r\n\r\n", 401),
        (SIGNED + b"\r\n", 411),
        (
            SIGNED + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
            411,
        ),
        (b"POST /hooks/deploy HTTP/1.1\r\nX: " + b"x" * 40_000 + b"\r\n\r\n", 431),
        (b"GET /hooks/deploy HTTP/1.1\r\n\r\n", 405),
        (b"POST /hooks/other HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 404),
        (b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 404),
        (b"\x16\x03\x01 hello\r\n\r\n", 400),
    ],
)
async def test_what_is_not_a_delivery_is_turned_away(hook: Hook, request_: bytes, code: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(hook.place.rpartition(":")[2]))
    writer.write(request_)
    answer = await reader.read()
    writer.close()

    assert answer.startswith(b"HTTP/1.1 %d " % code)
    assert hook.taken == []


@pytest.mark.fault("F49")
async def test_a_slow_sender_is_turned_away(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver, "HEAD_WITHIN", 0.1)
    monkeypatch.setattr(receiver, "BODY_WITHIN", 0.1)
    for said in (
        b"POST /hooks/dep",
        SIGNED + b"Content-Length: 5\r\n\r\nab",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(hook.place.rpartition(":")[2]))
        writer.write(said)

        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
        writer.close()


@pytest.mark.fault("F49")
async def test_a_flood_without_valid_signatures_leaves_the_rate_to_the_others(hook: Hook) -> None:
    def flood(number: int) -> int:
        return post(hook.url, CONTENT, signed("wrong", str(number), CONTENT))[0]

    with ThreadPoolExecutor(8) as pool:
        loop = asyncio.get_running_loop()
        codes = await asyncio.gather(*(loop.run_in_executor(pool, flood, each) for each in range(400)))

    assert set(codes) == {401}
    assert (await hook.post(CONTENT, signed(SECRET, "one", CONTENT)))[0] == 202
    assert [each.key for each in hook.taken] == ["one"]


@pytest.mark.fault("F49")
async def test_a_flood_of_signed_deliveries_is_dammed(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver, "RATE", 0.0)
    monkeypatch.setattr(receiver, "BURST", 3.0)
    codes = [(await hook.post(CONTENT, signed(SECRET, str(each), CONTENT)))[0] for each in range(5)]

    assert codes == [202, 202, 202, 429, 429]


@pytest.mark.fault("F49")
async def test_an_unsigned_request_is_refused_before_its_body_is_sent(hook: Hook) -> None:
    """Each could otherwise keep its connection and a megabyte until the time is up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(hook.place.rpartition(":")[2]))
    writer.write(b"POST /hooks/deploy HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n")
    answer = await reader.read()
    writer.close()

    assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.fault("F49")
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"POST /hooks/dep",
        SIGNED + b"Content-Length: 9\r\n\r\n",
    ],
    ids=["silent", "half a head", "no body"],
)
async def test_idle_connections_make_room_for_a_delivery(
    hook: Hook, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest is closed; their own time-outs are too far away here to help."""
    monkeypatch.setattr(receiver, "HEAD_WITHIN", 600.0)
    monkeypatch.setattr(receiver, "BODY_WITHIN", 600.0)
    idle = []
    for _ in range(receiver.CONNECTIONS):
        idle.append(await asyncio.open_connection("127.0.0.1", int(hook.place.rpartition(":")[2])))
        idle[-1][1].write(said)
        await idle[-1][1].drain()

    assert (await hook.post(CONTENT, signed(SECRET, "one", CONTENT)))[0] == 202
    oldest, _ = idle[0]
    with suppress(ConnectionResetError):
        assert await oldest.read() == b""
    for _, writer in idle:
        writer.close()


async def test_what_cannot_be_written_down_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    hook = Hook(f"127.0.0.1:{free_port()}")
    inlet = Inlet("deploy", {"secret": f"file:{tmp_path}/secret", "listen": hook.place})
    await inlet.open()

    async def fail() -> None:
        deliveries = inlet.deliveries(60)
        await anext(deliveries)
        await deliveries.aclose()  # type: ignore[attr-defined]

    failing = asyncio.ensure_future(fail())
    code, _ = await hook.post(CONTENT, signed(SECRET, "one", CONTENT))
    await failing
    await inlet.close()

    assert code == 503


async def test_a_place_that_is_taken_is_named(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        place = f"127.0.0.1:{other.getsockname()[1]}"
        inlet = Inlet("deploy", {"secret": f"file:{tmp_path}/secret", "listen": place})
        with pytest.raises(SourceError, match=f"cannot listen at {place}"):
            await inlet.open()


async def test_several_webhooks_open_one_place_at_once(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    settings = {"secret": f"file:{tmp_path}/secret", "listen": f"127.0.0.1:{free_port()}"}
    inlets = [Inlet(name, settings) for name in ("deploy", "deploy", "build")]
    try:
        await asyncio.gather(*(each.open() for each in inlets))
    finally:
        for each in inlets:
            await each.close()


@pytest.mark.spec("T6", "T10")
@pytest.mark.fault("F49")
def test_a_delivery_runs_a_task_once_however_often_it_is_sent(
    client: Engine, daemons: Daemons, config_file: Path, project: Path
) -> None:
    place = write_config(config_file)
    client = reopened(client)
    daemons.start()
    task = client.submit(watching(project, "webhook:deploy", 'cat "$ERRANDS_EVENT_FILE"'))
    eventually(lambda: looks(client, task.id))
    url = f"http://{place}/hooks/deploy"
    assert post(url, CONTENT, signed(SECRET, "one", CONTENT)) == (202, "taken")
    assert post(url, CONTENT, signed(SECRET, "one", CONTENT)) == (202, "taken")
    eventually(lambda: ran(client, task.id) == 1)
    assert post(url, CONTENT, signed(SECRET, "two", CONTENT)) == (202, "taken")
    eventually(lambda: ran(client, task.id) == 2)

    event = json.loads(client.output(task.id).content.decode().splitlines()[-1])
    assert [each["payload"]["version"] for each in event["signals"]] == [7]
    assert SECRET.encode() not in Path(client.home.store).read_bytes()
    check_books(client, task.id)
    huge = b'{"version": 1e999}'  # is JSON, and a number that cannot be written again
    assert post(url, huge, signed(SECRET, "huge", huge)) == (202, "taken")
    client.close()


@pytest.mark.spec("T6")
def test_deliveries_of_github_run_a_task(
    client: Engine, daemons: Daemons, config_file: Path, project: Path
) -> None:
    place = write_config(config_file, 'kind = "github"')
    client = reopened(client)
    daemons.start()
    draft = watching(project, "github:people/project", on_options={"hook": "deploy", "branch": "main"})
    task = client.submit(draft)
    eventually(lambda: looks(client, task.id))
    github = FakeGitHub()
    url = f"http://{place}/hooks/deploy"
    pull, build = github.open_pull("a new one"), github.end_build()
    deliveries = [
        github.delivery("ping", SECRET),
        github.delivery("pull_request", SECRET, action="closed", pull_request=pull),
        github.delivery("pull_request", SECRET, action="opened", pull_request=pull),
        github.delivery("workflow_run", SECRET, workflow_run=github.end_build("success")),
        github.delivery("workflow_run", SECRET, workflow_run=github.end_build(head_branch="other")),
        github.delivery("workflow_run", SECRET, workflow_run=build),
    ]
    github.close()
    for content, headers in deliveries:
        assert post(url, content, headers)[0] == 202
    content, headers = deliveries[2]
    again = {**headers, "X-GitHub-Delivery": "another id"}  # which is not signed
    assert post(url, content, again)[0] == 202
    assert post(url, content + b" ", headers)[0] == 401

    eventually(lambda: client.store.view(task.id).latest.state == "completed")
    eventually(lambda: client.store.waiting_signals(task.id)[0] == 0)
    runs = [run.number for run in client.store.history(task.id)]
    told = [json.loads(each.body)["text"] for run in runs for each in client.store.signals(task.id, run=run)]
    assert told == ["pull request #1: a new one", "build tests of main ended with failure"]
    client.close()


def write_config(place: Path, more: str = "") -> str:
    """Write a configuration with a webhook; give where it listens."""
    secret = place.parent / "secret"
    secret.write_text(SECRET)
    listen = f"127.0.0.1:{free_port()}"
    place.write_text(f'[events]\nlisten = "{listen}"\n[webhooks.deploy]\nsecret = "file:{secret}"\n{more}\n')
    return listen


def reopened(client: Engine) -> Engine:
    """Open an engine that has read the configuration."""
    from errands.bootstrap import open_engine

    return open_engine(client.home, consent="yes")
