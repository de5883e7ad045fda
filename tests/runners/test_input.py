"""Input sent later through the run directory, with or without a terminal."""

from __future__ import annotations

import asyncio
import socket

import pytest

from errands.model.errors import NoInput
from errands.ports.rundir import OVER
from errands.runners.output import log
from tests.runners.stage import Stage


async def send(stage: Stage, run: str, text: bytes, *, eof: bool = False) -> None:
    await asyncio.to_thread(log.send, str(stage.directory(run)), text, eof=eof)


@pytest.mark.spec("L24")
async def test_a_task_reads_what_is_sent_to_it_until_the_end_of_input(stage: Stage) -> None:
    run = stage.start("echo ready; cat; echo end", input="pipe")
    await stage.printed(run, b"ready")

    await send(stage, run, b"first\n")
    await stage.printed(run, b"first\n")
    await send(stage, run, b"second\n", eof=True)

    assert (await stage.ended(run)).code == 0
    assert stage.output(run) == b"ready\nfirst\nsecond\nend\n"


@pytest.mark.spec("L24")
async def test_large_input_arrives_completely_at_a_slow_reader(stage: Stage) -> None:
    run = stage.start("echo ready; sleep 0.1; wc -c", input="pipe")
    await stage.printed(run, b"ready")

    await send(stage, run, b"x" * 1_000_000, eof=True)
    await stage.ended(run)

    assert stage.output(run) == b"ready\n1000000\n"


@pytest.mark.spec("L24")
async def test_input_of_several_senders_is_never_interleaved(stage: Stage) -> None:
    run = stage.start("echo ready; sort | uniq -c", input="pipe")
    await stage.printed(run, b"ready")

    await asyncio.gather(*(send(stage, run, b"%d" % n * 2_000 + b"\n") for n in range(10, 30)))
    await send(stage, run, b"", eof=True)
    await stage.ended(run)

    lines = stage.output(run).split(b"\n")[1:-1]
    assert sorted(line.split()[1] for line in lines) == [b"%d" % n * 2_000 for n in range(10, 30)]


@pytest.mark.spec("L24")
async def test_a_task_with_a_terminal_sees_one_and_can_be_answered(stage: Stage) -> None:
    run = stage.start("test -t 0 && test -t 1 && stty size; read name; echo hello $name", input="pty")
    await stage.printed(run, b"24 80")

    await send(stage, run, b"world\n")

    assert (await stage.ended(run)).code == 0
    assert b"hello world\r\n" in stage.output(run)


@pytest.mark.spec("L24")
async def test_the_end_of_input_reaches_a_task_with_a_terminal(stage: Stage) -> None:
    run = stage.start("stty -echo; echo ready; cat; echo end", input="pty")
    await stage.printed(run, b"ready")

    await send(stage, run, b"half a line", eof=True)

    assert (await stage.ended(run)).code == 0
    assert stage.output(run) == b"ready\r\nhalf a lineend\r\n"


async def test_a_cancel_reaches_a_task_with_a_terminal(stage: Stage) -> None:
    run = stage.start("echo ready; cat", input="pty")
    await stage.printed(run, b"ready")

    stage.pool.stop(run, grace=5)

    assert (await stage.ended(run)).stop == "cancel"


@pytest.mark.spec("L24")
async def test_sending_to_a_run_without_input_says_how_to_start_it_with_input(stage: Stage) -> None:
    run = stage.start("echo ready; sleep 1000")
    await stage.printed(run, b"ready")

    with pytest.raises(NoInput, match="start it with --stdin or --pty"):
        await send(stage, run, b"hello\n")
    stage.pool.stop(run, grace=5)
    await stage.ended(run)


@pytest.mark.spec("L24")
async def test_an_ended_run_takes_no_input(stage: Stage) -> None:
    run = stage.start("true", input="pipe")
    await stage.ended(run)

    with pytest.raises(NoInput, match="the run is over"):
        await send(stage, run, b"hello\n")
    assert not (stage.directory(run) / "control").exists()


@pytest.mark.spec("L24")
async def test_input_after_its_end_is_refused(stage: Stage) -> None:
    run = stage.start("echo ready; cat; echo ended; sleep 1000", input="pipe")
    await stage.printed(run, b"ready")
    await send(stage, run, b"", eof=True)
    await stage.printed(run, b"ended")

    with pytest.raises(NoInput, match="input was ended"):
        await send(stage, run, b"late\n")
    stage.pool.stop(run, grace=5)
    await stage.ended(run)


async def test_a_sender_gets_an_error_when_the_run_ends_before_reading_everything(stage: Stage) -> None:
    run = stage.start("echo ready; sleep 1000", input="pipe")
    await stage.printed(run, b"ready")
    sending = asyncio.create_task(send(stage, run, b"x" * 1_000_000))
    await asyncio.sleep(0)

    stage.pool.stop(run, grace=5)

    with pytest.raises(NoInput):
        await sending
    assert (await stage.ended(run)).stop == "cancel"


async def test_a_sender_gets_an_error_when_the_task_closes_its_terminal(stage: Stage) -> None:
    run = stage.start("stty -echo -icanon; echo ready; exec <&- >&- 2>&-; sleep 1000", input="pty")
    await stage.printed(run, b"ready")

    with pytest.raises(NoInput, match="the task has closed its input"):
        await send(stage, run, b"x" * 200_000)
    stage.pool.stop(run, grace=5)
    await stage.ended(run)


@pytest.mark.parametrize("kind", ["pipe", "pty"])
@pytest.mark.parametrize("said", [b"", b"d", b"dhello\n", b"e" + b"x" * 200_000])
async def test_a_sender_that_never_finishes_does_not_delay_the_end(
    stage: Stage, kind: str, said: bytes
) -> None:
    run = stage.start("stty -echo 2> /dev/null; echo ready; sleep 0.2; exit 3", input=kind)
    await stage.printed(run, b"ready")
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect(str(stage.directory(run) / "control"))
        sender.setblocking(False)
        if said:
            sender.send(said)
        ending = await stage.ended(run)

        assert ending.code == 3
        assert sender.recv(100) == b"x" + OVER.encode()


async def test_input_works_with_a_long_path_to_the_run_directory(stage: Stage) -> None:
    run = stage.start("echo ready; cat", input="pipe", run_id="a-rather-long-name-" * 8 + ".1")
    await stage.printed(run, b"ready")

    await send(stage, run, b"hello\n", eof=True)
    await stage.ended(run)

    assert stage.output(run) == b"ready\nhello\n"


@pytest.mark.spec("L24", "X12")
async def test_a_numbered_piece_counts_once_however_often_and_incompletely_it_is_sent(stage: Stage) -> None:
    run = stage.start("echo ready; cat; echo end", input="pipe")
    await stage.printed(run, b"ready")
    directory = str(stage.directory(run))

    with socket.socket(socket.AF_UNIX) as died:  # in the middle of the first piece
        died.connect(f"{directory}/control")
        died.sendall(b"#1 d 10\nfirst")
    await stage.printed(run, b"first")
    for number, piece in ((1, b"first one\n"), (1, b"first one\n"), (2, b"second\n"), (1, b"first one\n")):
        assert await log.send_numbered(directory, number, piece, eof=False) == ""
    assert await log.send_numbered(directory, 3, b"", eof=True) == ""
    refused = await log.send_numbered(directory, 4, b"third\n", eof=False)

    assert refused in (  # it is about to end, or has ended
        "the run's input was ended",
        "the run ended before it took all of it",
        "the run is over, so it takes no input",
    )
    assert (await stage.ended(run)).code == 0
    assert stage.output(run) == b"ready\nfirst one\nsecond\nend\n"
