"""Captured output: all of it up to the cap, beyond that its beginning and its end."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from errands.ports import rundir
from errands.runners.output import capped_log, log
from tests.runners.stage import HEADER, Stage, until


def numbers(first: int, last: int) -> bytes:
    return b"".join(b"%d\n" % number for number in range(first, last + 1))


@pytest.mark.spec("O1")
async def test_both_streams_are_captured_in_order(stage: Stage) -> None:
    run = stage.start("for i in 1 2 3; do echo out $i; echo err $i >&2; done")

    await stage.ended(run)

    assert stage.output(run) == b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"


@pytest.mark.spec("O2")
async def test_the_log_begins_with_its_header(stage: Stage) -> None:
    run = stage.start("echo hello", header=b"# task 1\n# approved by nobody\n")

    await stage.ended(run)

    directory = stage.directory(run)
    assert (directory / "output.log").read_bytes() == b"# task 1\n# approved by nobody\nhello\n"
    assert log.header(str(directory)) == b"# task 1\n# approved by nobody\n"


@pytest.mark.spec("O1")
@pytest.mark.fault("F34")
async def test_binary_output_is_kept_byte_for_byte(stage: Stage) -> None:
    everything = stage.folder / "everything"
    everything.write_bytes(bytes(range(256)) * 300)

    run = stage.start(f"cat {everything}")
    ending = await stage.ended(run)

    assert stage.output(run) == everything.read_bytes()
    assert ending.bytes == 256 * 300


async def test_a_task_that_reopens_its_standard_error_does_not_truncate_its_log(stage: Stage) -> None:
    run = stage.start("echo first; echo second > /dev/stderr; echo third > /dev/stdout")

    await stage.ended(run)

    assert stage.output(run) == b"first\nsecond\nthird\n"


@pytest.mark.spec("O6")
@pytest.mark.trap(33)
async def test_beyond_the_cap_both_ends_are_kept_and_the_gap_is_marked(stage: Stage) -> None:
    everything = numbers(1, 30_000)
    run = stage.start("seq 1 30000", cap=20_000)
    ending = await stage.ended(run)

    missing = len(everything) - 20_000
    assert ending.code == 0
    assert (ending.bytes, ending.lines) == (len(everything), 30_000)
    assert (ending.truncated, ending.lost_bytes) == (True, missing)
    plain = (stage.directory(run) / "output.log").read_bytes()
    gap = f"\n[... {missing:,} bytes not kept ...]\n".encode()
    assert plain == HEADER + everything[:10_000] + gap + everything[-10_000:]
    assert not (stage.directory(run) / "output.tail").exists()


@pytest.mark.spec("O6")
async def test_output_of_exactly_the_cap_is_kept_completely(stage: Stage) -> None:
    run = stage.start("head -c 20000 /dev/zero", cap=20_000)
    ending = await stage.ended(run)

    assert not ending.truncated
    assert stage.output(run) == bytes(20_000)
    assert (stage.directory(run) / "output.log").read_bytes() == HEADER + bytes(20_000)


@pytest.mark.spec("O3", "O6")
async def test_a_reader_that_continues_from_its_offset_misses_only_the_gap(stage: Stage) -> None:
    everything = numbers(1, 30_000)
    run = stage.start("seq 1 30000", cap=20_000)
    await stage.ended(run)

    directory = str(stage.directory(run))
    first = log.read(directory, offset=0)
    second = log.read(directory, offset=first.next_offset)

    assert (first.content, first.missing) == (everything[:10_000], 0)
    assert second.missing == len(everything) - 20_000
    assert second.offset == first.next_offset + second.missing
    assert second.content == everything[second.offset :]
    assert second.next_offset == len(everything)
    assert log.read(directory, offset=second.next_offset).content == b""
    assert log.read(directory, offset=9_990, limit=20).content == everything[9_990:10_000]
    assert (
        log.read(directory, offset=second.offset + 5, limit=20).content
        == everything[second.offset + 5 :][:20]
    )


@pytest.mark.spec("O3", "O9")
async def test_a_live_run_is_read_piece_by_piece_without_repetition(stage: Stage) -> None:
    pause, second_pause = stage.folder / "pause", stage.folder / "second_pause"
    os.mkfifo(pause)
    os.mkfifo(second_pause)
    run = stage.start(f"echo one; read x < {pause}; echo two; read x < {second_pause}")
    await stage.printed(run, b"one\n")
    directory = str(stage.directory(run))

    first = log.read(directory)
    nothing = log.read(directory, offset=first.next_offset)
    pause.write_text("go on\n")
    await until(lambda: log.read(directory, offset=first.next_offset).content, "the second line")
    second = log.read(directory, offset=nothing.next_offset)
    second_pause.write_text("go on\n")
    await stage.ended(run)

    assert (first.content, nothing.content, second.content) == (b"one\n", b"", b"two\n")


@pytest.mark.spec("O3", "O6")
async def test_the_end_of_a_live_run_beyond_its_cap_can_be_read(stage: Stage) -> None:
    pause = stage.folder / "pause"
    os.mkfifo(pause)
    everything = numbers(1, 30_000) + b"last words\n"
    run = stage.start(f"seq 1 30000; echo last words; read x < {pause}", cap=20_000)
    await stage.printed(run, b"last words\n")
    directory = str(stage.directory(run))

    first = log.read(directory)
    second = log.read(directory, offset=first.next_offset)
    end = log.tail(directory, 2)
    pause.write_text("go on\n")
    await stage.ended(run)

    assert first.content == everything[:10_000]
    assert second.content == everything[-10_000:]
    assert second.missing == len(everything) - 20_000
    assert end.content == b"30000\nlast words\n"
    assert end.next_offset == len(everything)


@pytest.mark.spec("O7")
async def test_the_last_lines_are_read_from_the_end(stage: Stage) -> None:
    run = stage.start("seq 1 100000; printf unfinished")
    await stage.ended(run)

    directory = str(stage.directory(run))
    assert log.tail(directory, 3).content == b"99999\n100000\nunfinished"
    assert log.tail(directory, 0).content == b""
    assert log.tail(directory, 20).content == numbers(99_982, 100_000) + b"unfinished"


@pytest.mark.spec("O7")
async def test_asking_for_more_lines_than_there_are_returns_them_all(stage: Stage) -> None:
    run = stage.start("echo one; echo two")
    await stage.ended(run)

    piece = log.tail(str(stage.directory(run)), 20)

    assert (piece.content, piece.offset, piece.next_offset) == (b"one\ntwo\n", 0, 8)


@pytest.mark.trap(37)
async def test_the_end_of_a_huge_log_is_read_without_reading_the_rest(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stage.start("echo first; echo last", cap=20 << 30)
    await stage.ended(run)
    file = stage.directory(run) / "output.log"
    record = stage.directory(run) / "record.1"
    size = 5 << 30
    with file.open("r+b") as sparse:
        sparse.truncate(size)
        sparse.seek(size)
        sparse.write(b"\nthe end\n")
    produced = size + 9 - len(HEADER)
    text = record.read_text()
    for fact in ("bytes", "kept"):
        text = text.replace(f"{fact}=11 ", f"{fact}={produced} ")
    record.write_text(text)

    taken: list[int] = []

    def counted(file: int, count: int, at: int) -> bytes:
        piece = pread(file, count, at)
        taken.append(len(piece))
        return piece

    pread = os.pread
    monkeypatch.setattr(os, "pread", counted)
    piece = log.tail(str(stage.directory(run)), 1)

    assert (piece.content, piece.next_offset) == (b"the end\n", produced)
    assert 0 < sum(taken) < 1 << 20


async def test_a_log_that_does_not_exist_yet_is_empty(tmp_path: Path) -> None:
    assert log.read(str(tmp_path / "nowhere")).content == b""
    assert log.tail(str(tmp_path / "nowhere"), 5).content == b""
    assert log.header(str(tmp_path / "nowhere")) == b""


@pytest.mark.spec("O6")
@pytest.mark.trap(33)
@pytest.mark.fault("F32")
async def test_yes_never_takes_more_disk_than_the_cap(stage: Stage) -> None:
    cap = 1 << 20
    run = stage.start("yes", cap=cap)
    await stage.started(run)
    directory = stage.directory(run)
    largest = 0

    def produced_much() -> bool:
        nonlocal largest
        largest = max(largest, sum(path.stat().st_blocks * 512 for path in directory.glob("output.*")))
        return log.tail(str(directory), 1).next_offset > 200 << 20

    await until(produced_much, "200 MiB of output")
    stage.pool.stop(run, grace=5)
    ending = await stage.ended(run)

    assert ending.bytes > 200 << 20
    assert largest <= cap * 1.1
    assert (directory / "output.log").stat().st_size < cap + 200


@pytest.mark.fault("F33")
@pytest.mark.trap(37)
async def test_one_line_of_a_gigabyte_does_not_need_as_much_memory(stage: Stage) -> None:
    run = stage.start("head -c 1G /dev/zero", cap=1 << 20)
    ending = await stage.ended(run)

    assert ending.bytes == 1 << 30
    assert ending.lines == 1
    facts = Path(f"/proc/{stage.shim_of(run)}/status").read_text()
    peak = next(line.split()[1] for line in facts.split("\n") if line.startswith("VmHWM"))
    assert int(peak) < 40_000


@pytest.mark.trap(24)
@pytest.mark.fault("F29")
async def test_a_grandchild_that_keeps_the_pipe_open_does_not_delay_the_end(stage: Stage) -> None:
    ending = await stage.run("sleep 1000 & echo done; exit 4")

    assert ending.code == 4
    assert ending.elapsed is not None
    assert ending.elapsed < 20
    assert ending.leftovers == 1


@pytest.mark.spec("O1")
async def test_output_written_just_before_the_exit_is_never_lost(stage: Stage) -> None:
    runs = [stage.start("head -c 60000 /dev/zero; echo end") for _ in range(100)]

    for run in runs:
        ending = await stage.ended(run)
        assert ending.bytes == 60_004
        assert stage.output(run).endswith(b"\0end\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="MOUNTING A SMALL DISK NEEDS ROOT: a full disk is not tested")
@pytest.mark.trap(36)
@pytest.mark.fault("F14", "F16")
async def test_a_full_disk_is_reported_and_does_not_affect_the_run(stage: Stage) -> None:
    small = stage.runs / "task-full.1"
    small.mkdir(parents=True)
    subprocess.check_call(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "none", str(small)])
    try:
        ending = await stage.run("seq 1 200000; exit 3", run_id="task-full.1")
        everything = numbers(1, 200_000)
        kept = stage.output("task-full.1")

        assert ending.code == 3
        assert ending.disk == "No space left on device"
        assert (ending.bytes, ending.lines) == (len(everything), 200_000)
        assert ending.truncated
        assert ending.lost_bytes == len(everything) - len(kept)
        assert 100_000 < len(kept) < 256 << 10
        assert everything.startswith(kept)
        assert b"exit " in (small / "record.1").read_bytes()
    finally:
        subprocess.check_call(["umount", "-l", str(small)])


@pytest.mark.spec("O10")
async def test_reported_progress_is_kept_in_a_file(stage: Stage) -> None:
    first = "echo '::progress 1/3 one'; echo noise"
    second = "printf '::progr'; sleep 0.05; echo 'ess 3/3 all of it'"
    run = stage.start(f"{first}; {second}")
    await stage.ended(run)

    assert (stage.directory(run) / "progress").read_text() == "3/3 all of it\n"


@pytest.mark.spec("O10")
async def test_progress_is_available_while_the_run_continues(stage: Stage) -> None:
    pause = stage.folder / "pause"
    os.mkfifo(pause)
    run = stage.start(f"echo '::progress 10%'; echo '::progress 20% second'; read x < {pause}")
    file = stage.directory(run) / "progress"

    await until(lambda: file.exists() and file.read_text() == "20% second\n", "the second report")
    pause.write_text("go on\n")

    assert (await stage.ended(run)).code == 0


async def test_a_task_that_deletes_its_run_directory_still_has_an_ending(stage: Stage) -> None:
    run = stage.start('rm -r "$ERRANDS_RUN_DIR"; echo gone; exit 5')
    ending = await stage.ended(run)

    assert ending.code == 5
    assert b"exit " in (stage.directory(run) / "record.1").read_bytes()


@pytest.mark.parametrize("lines", [0, 1, 60, 500])
@pytest.mark.parametrize("command", ["seq 200", "printf 'no end'", "printf '\\n\\n'"])
async def test_the_tail_of_an_ended_log_is_the_same_with_and_without_its_record(
    stage: Stage, command: str, lines: int
) -> None:
    run = stage.start(command)
    ending = await stage.ended(run)
    directory = str(stage.directory(run))

    assert log.tail(directory, lines, size=ending.bytes) == log.tail(directory, lines)


@pytest.mark.fault("F14")
def test_a_disk_that_fills_up_while_the_tail_is_joined_leaves_a_true_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = capped_log.Log(str(tmp_path), header=HEADER, cap=8192)
    written.write(numbers(1, 10_000), lines=10_000)
    room = 1000

    def write(file: int, content: bytes) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken, room = content[:room], room - len(content[:room])
        return real(file, taken)

    real = os.write
    monkeypatch.setattr("errands.runners.output.capped_log.os.write", write)
    facts = written.finish()

    kept, lost = int(facts["kept"]), int(facts["lost_bytes"])
    text = (tmp_path / "output.log").read_bytes()
    assert kept + lost == facts["bytes"]
    assert text.startswith(HEADER + numbers(1, 10_000)[:kept])
    assert len(text) == len(HEADER) + kept + int(facts.get("gap", 0))


@pytest.mark.spec("O17")
def test_a_header_that_is_completed_while_a_reader_looks_is_not_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rundir.create(str(tmp_path / "run"), b"# task      it-333333, run 1\n\n")
    measure = rundir.header_of

    def then_complete(file: int) -> bytes:
        header = measure(file)
        capped_log.Log(str(tmp_path / "run"), header=HEADER + b"# started   later\n\n", cap=8192)
        return header

    monkeypatch.setattr(rundir, "header_of", then_complete)

    assert log.read(str(tmp_path / "run")).content == b""
