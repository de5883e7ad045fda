"""Tasks that print faster than they are read: every read ends and makes progress."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from errands.ports import rundir
from errands.ports.rundir import NOTE_SIZE
from errands.runners.output import log
from errands.runners.output.capped_log import Log
from tests.runners.stage import Stage, until

CAP = 2000
LINES = b"".join(b"%09d\n" % number for number in range(CAP // 20))  # as much as the ring holds


@pytest.fixture
def flooded(tmp_path: Path) -> Log:
    """Return the log of a run that has printed far more than its cap."""
    written = Log(str(tmp_path), header=b"", cap=CAP)
    for _ in range(5):
        written.write(LINES, lines=LINES.count(b"\n"))
    return written


def flood_before_reads(log_: Log, monkeypatch: pytest.MonkeyPatch, *, times: float) -> list[int]:
    """Overwrite the whole ring whenever a reader is about to read what it has just located."""
    read_at = rundir.read_at
    rounds: list[int] = []

    def late(file: int, size: int, at: int) -> bytes:
        if at >= NOTE_SIZE and len(rounds) < times:
            rounds.append(size)
            log_.write(LINES, lines=LINES.count(b"\n"))
        return read_at(file, size, at)

    monkeypatch.setattr(log, "read_at", late)
    return rounds


@pytest.mark.spec("O7")
def test_a_tail_that_is_overwritten_while_it_is_read_is_read_again(
    tmp_path: Path, flooded: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = flood_before_reads(flooded, monkeypatch, times=3)

    piece = log.tail(str(tmp_path), 2)

    assert len(rounds) == 3
    assert piece.content == LINES[-20:]
    assert piece.next_offset == flooded.total


@pytest.mark.spec("O3")
def test_a_piece_that_is_overwritten_while_it_is_read_is_read_further_on(
    tmp_path: Path, flooded: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = flood_before_reads(flooded, monkeypatch, times=3)

    piece = log.read(str(tmp_path), offset=CAP // 2)

    assert len(rounds) == 3
    assert piece.content == LINES
    assert (piece.missing, piece.next_offset) == (flooded.total - CAP, flooded.total)


@pytest.mark.spec("O3", "O7")
@pytest.mark.timeout(60)
def test_a_reader_that_is_always_too_late_still_returns(
    tmp_path: Path, flooded: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = flooded.total
    flood_before_reads(flooded, monkeypatch, times=float("inf"))

    last, piece = log.tail(str(tmp_path), 2), log.read(str(tmp_path), offset=CAP // 2)

    assert (last.content, piece.content) == (b"", b"")
    assert last.next_offset > before  # it says how much the task has printed
    assert piece.next_offset > last.next_offset  # and a reader that continues does not return here
    assert piece.next_offset - piece.offset == 0 < piece.missing


@pytest.mark.spec("O3", "O6")
@pytest.mark.timeout(200)
async def test_readers_of_flooding_tasks_always_make_progress(stage: Stage) -> None:
    runs = [stage.start(("yes", "on and on"), cap=100_000) for _ in range(2)]
    for run in runs:
        await until(lambda run=run: log.tail(str(stage.directory(run)), 0).next_offset > 1 << 20)  # type: ignore[misc]
    offset = dict.fromkeys(runs, 0)
    got = dict.fromkeys(runs, 0)
    for _ in range(300):
        for run in runs:
            directory = str(stage.directory(run))
            got[run] += b"on and on\n" in log.tail(directory, 3).content
            piece = log.read(directory, offset=offset[run])
            assert piece.content or not piece.missing or piece.next_offset > offset[run]
            offset[run] = piece.next_offset
        await asyncio.sleep(0)
    for run in runs:
        stage.pool.stop(run, grace=0)
        await stage.ended(run)

    assert min(got.values()) > 200
    assert min(offset.values()) > 1 << 20


@pytest.mark.spec("O7")
@pytest.mark.parametrize("is_over", [False, True])
async def test_the_tail_is_right_when_the_output_just_exceeds_half_the_cap(
    stage: Stage, is_over: bool
) -> None:
    run = stage.start("seq 1 10000; read line", cap=60_000, input="pipe")
    await until(lambda: log.tail(str(stage.directory(run)), 0).next_offset == 48_894)
    if is_over:
        log.send(str(stage.directory(run)), b"\n")
        await stage.ended(run)

    assert log.tail(str(stage.directory(run)), 2).content == b"9999\n10000\n"
    assert log.tail(str(stage.directory(run)), 9_000).content.startswith(b"1001\n")
