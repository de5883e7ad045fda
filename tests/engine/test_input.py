"""Input: none by default, and any time later for a task that was started with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.model.errors import ErrandsError, NoInput
from errands.ports.rundir import CONTROL
from errands.testing.engines import TestEngine


@pytest.mark.spec("L24")
@pytest.mark.trap(25)
async def test_a_task_has_empty_input_unless_it_was_started_with_one(engine: TestEngine) -> None:
    task = await engine.finished("wc -c; test -t 0 || echo no terminal")
    assert (await engine.text(task.id)).split("\n")[:2] == ["0", "no terminal"]


@pytest.mark.spec("L24")
async def test_a_task_can_be_sent_input_piece_by_piece_until_its_end(engine: TestEngine) -> None:
    task = await engine.started("echo ready; cat", input="pipe")
    await engine.send(task.id, b"one\n")
    await engine.printed(task.id, "one")
    await engine.send(task.id, b"\x00\xfftwo\n", eof=True)
    ended = await engine.wait(task.id)

    assert ended.state == "completed"
    assert (await engine.output(task.id)).content == b"ready\none\n\x00\xfftwo\n"


@pytest.mark.spec("L24")
async def test_a_task_can_have_a_pseudo_terminal(engine: TestEngine) -> None:
    task = await engine.started(
        "test -t 0 && test -t 1 && echo ready; read name; echo hello $name", input="pty"
    )
    await engine.send(task.id, b"ada\n")
    await engine.wait(task.id)

    assert "hello ada" in await engine.text(task.id)


@pytest.mark.spec("L24")
async def test_sending_to_a_task_without_input_is_refused(engine: TestEngine) -> None:
    task = await engine.started("echo ready; sleep 1000")
    with pytest.raises(NoInput, match="started without input"):
        await engine.send(task.id, b"x")
    waiting = await engine.submit("cat", input="pipe", after=[task.id])
    with pytest.raises(ErrandsError, match="is pending; input can only be sent to a running task"):
        await engine.send(waiting.id, b"x")


@pytest.mark.spec("L24")
async def test_a_run_that_takes_no_input_yet_is_waited_for(engine: TestEngine) -> None:
    task = await engine.started("echo ready; cat", input="pipe")
    socket = Path(engine.engine.home.run(task.latest.id), CONTROL)
    aside = socket.rename(socket.with_name("aside"))
    sending = engine.engine.sending(task.id, b"hello\n", eof=True)
    next(sending)  # it waits
    aside.rename(socket)
    assert list(sending) == []
    await engine.wait(task.id)

    assert "hello" in await engine.text(task.id)
