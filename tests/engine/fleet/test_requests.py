"""What another home asks for counts once, however often it is asked, because a reply can be lost."""

from __future__ import annotations

import binascii
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from errands.engine.fleet.requests import carry_out
from errands.model.states import OPEN
from errands.model.view import View
from errands.ports.fleet import Reply, Request, placement, spool
from errands.ports.fleet.membership import Membership, write
from errands.ports.home import Home
from errands.runners.output.mirror import Mirror
from errands.testing.engines import TestEngine, embedded, until

pytestmark = pytest.mark.spec("X12", "L21")


@pytest.fixture
async def engine(own_home: Path) -> AsyncIterator[TestEngine]:
    """The engine of a home whose runs another host has, as far as this home knows."""
    own_home.mkdir(0o700, parents=True)
    me = Membership(id="h1", url="postgresql://127.0.0.1:1/none", name="laptop", labels=(), slots=0)
    write(Home(path=str(own_home)).fleet, me)
    async with embedded(str(own_home)) as engine:
        yield engine
        for view in await engine.list(states=OPEN):
            await end(engine, view)


async def end(engine: TestEngine, view: View) -> None:
    """Let the host of a run report its end."""
    mirror = Mirror(directory_of(engine, view), view.latest.id, attempt=1, header=b"", cap=1 << 20)
    mirror.finish({"code": 0})
    engine.engine.bell.ring_about([view.id])
    await engine.wait(view.id)


async def placed(engine: TestEngine, **options: Any) -> View:
    view = await engine.submit("cat", host="big", **options)
    directory = engine.engine.home.run(view.latest.id)
    await until(lambda: placement.read(directory))
    placement.write(directory, placement.Placement(attempt=1, host="big", has_begun=True))
    return view


def directory_of(engine: TestEngine, view: View) -> str:
    return engine.engine.home.run(view.latest.id)


def sending(view: View, content: bytes, *, token: str, eof: bool = False) -> Request:
    said = binascii.b2a_base64(content, newline=False).decode()
    return Request(
        number=1, task=view.id, wish="send", token=token, author="desk",
        body={"run": view.latest.id, "content": said, "eof": eof},
    )  # fmt: skip


@pytest.mark.spec("L24")
async def test_input_that_is_asked_for_twice_is_sent_once(engine: TestEngine) -> None:
    view = await placed(engine, input="pipe")
    directory = directory_of(engine, view)
    first, last = sending(view, b"\x00one\n", token="a"), sending(view, b"", token="b", eof=True)

    for request in (first, first, last, first):
        assert carry_out(engine.engine, request) is None

    pieces = [spool.read(directory, number) for number in spool.numbers(directory)]
    assert [(each.content, each.is_last) for each in pieces] == [(b"\x00one\n", False), (b"", True)]
    spool.reply(directory, 1, "")
    spool.reply(directory, 2, "it was closed")
    assert carry_out(engine.engine, first) == Reply()
    assert carry_out(engine.engine, last) == Reply(refusal="the input was not taken: it was closed")
    assert spool.numbers(directory) == [1, 2]


@pytest.mark.spec("L24")
async def test_input_whose_writer_was_killed_half_way_is_sent_once(engine: TestEngine) -> None:
    view = await placed(engine, input="pipe")
    directory = directory_of(engine, view)
    request = sending(view, b"one", token="a")
    carry_out(engine.engine, request)
    Path(directory, f"{spool._NAME}1").unlink()  # killed before the piece had its number

    assert carry_out(engine.engine, request) is None

    assert [spool.read(directory, each).content for each in spool.numbers(directory)] == [b"one"]


@pytest.mark.spec("L24")
async def test_input_for_a_run_that_is_over_is_refused(engine: TestEngine) -> None:
    view = await placed(engine, input="pipe")
    known, late = sending(view, b"one", token="a"), sending(view, b"two", token="b")
    assert carry_out(engine.engine, known) is None
    await end(engine, view)

    cut, over = "the run ended before it took all of it", "only be sent to a running task"
    for request, why in ((known, cut), (late, over)):
        reply = carry_out(engine.engine, request)
        assert reply is not None
        assert why in reply.refusal
    assert spool.numbers(directory_of(engine, view)) == [1]


@pytest.mark.spec("L28")
async def test_a_pause_says_who_wants_it_and_what_it_is_about(engine: TestEngine) -> None:
    view = await placed(engine)

    def ask(wish: str) -> str:
        request = Request(number=1, task=view.id, wish=wish, token="", author="desk", body={"run": False})  # type: ignore[arg-type]
        reply = carry_out(engine.engine, request)
        assert reply is not None
        assert reply.refusal == ""
        return reply.result

    assert [ask(wish) for wish in ("pause", "pause", "unpause", "unpause")] == [
        "processes", "processes", "processes", "nothing",
    ]  # fmt: skip
    placement.write(directory_of(engine, view), placement.Placement(attempt=1))
    assert [ask(wish) for wish in ("pause", "unpause")] == ["start", "start"]
    said = [(each.name, each.detail) for each in engine.engine.events(view.id)]
    assert [each for each in said if each[1] == "by fleet desk"] == [
        (what, "by fleet desk") for what in ("paused", "continued", "held", "released")
    ]
