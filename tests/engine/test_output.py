"""Output: every byte in order, readable while it comes, with its numbers and summary."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from errands.model.errors import NotFound
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.output import CONTEXT, Piece
from errands.testing.engines import TestEngine, embedded, until

WAITING = "echo ready; read line"


@pytest.mark.spec("O1")
async def test_both_streams_are_captured_together_and_in_order(engine: TestEngine) -> None:
    task = await engine.finished("for i in 1 2 3; do echo out $i; echo err $i >&2; done")
    assert await engine.text(task.id) == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"


@pytest.mark.spec("O1")
@pytest.mark.fault("F34")
async def test_bytes_that_are_not_text_are_kept_as_they_are(engine: TestEngine) -> None:
    task = await engine.finished(r"printf '\000\377\376caf\303\251\n\033[31m'")

    assert (await engine.output(task.id)).content == b"\x00\xff\xfecaf\xc3\xa9\n\x1b[31m"
    assert (task.latest.bytes, task.latest.lines) == (14, 2)


@pytest.mark.spec("O2")
async def test_a_log_begins_with_the_command_its_approval_and_the_time(
    engine: TestEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "ada")
    command = "echo hello\necho world; : > x"
    task = await engine.finished(Draft(command=command, cwd=str(tmp_path), consent="typed", door="terminal"))
    header, output = Path(task.latest.output_file).read_text().split("\n\n", 1)
    day = f"{task.created_at:%Y-%m-%d}"

    assert header.splitlines()[:5] == [
        f"# task      {task.id}, run 1",
        "# command   echo hello",
        "# echo world; : > x",
        f"# directory {tmp_path}",
        f"# approved  by ada, {task.created_at:%Y-%m-%d %H:%M:%S} UTC (terminal)",
    ]
    assert header.splitlines()[5].startswith(f"# started   {day}")
    assert output == await engine.text(task.id) == "hello\nworld\n"


@pytest.mark.spec("O2")
async def test_a_log_has_the_times_of_the_approval_and_of_the_start(
    engine: TestEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "ada")
    later = datetime.now(UTC) + timedelta(seconds=2)
    draft = Draft(command=": > x", cwd=str(tmp_path), at=later, consent="typed", door="terminal")
    task = await engine.finished(draft)
    header = Path(task.latest.output_file).read_text().splitlines()
    started = task.latest.started_at

    assert started is not None
    assert started >= later
    assert f"# approved  by ada, {task.created_at:%Y-%m-%d %H:%M:%S} UTC (terminal)" in header
    assert f"# started   {started:%Y-%m-%d %H:%M:%S} UTC" in header


@pytest.mark.spec("O12")
async def test_the_raw_log_is_readable_only_by_its_owner(engine: TestEngine, home: Home) -> None:
    task = await engine.finished("echo secret", before=["umask 0"])

    assert os.stat(task.latest.output_file).st_mode & 0o777 == 0o600
    assert os.stat(home.run(task.latest.id)).st_mode & 0o777 == 0o700


@pytest.mark.spec("O12")
async def test_secrets_of_the_environment_are_masked_in_shown_output(
    engine: TestEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAUNCHER_TOKEN", "correct-horse-battery")
    task = await engine.finished("echo $API_KEY $LAUNCHER_TOKEN", env={"API_KEY": "staple-and-glue-42"})
    raw = await engine.text(task.id)
    shown = engine.engine.mask(task.id).text(raw)

    assert raw == "staple-and-glue-42 correct-horse-battery\n"
    assert "staple" not in shown
    assert "horse" not in shown


@pytest.mark.spec("O12")
async def test_what_is_read_comes_with_the_bytes_around_it(engine: TestEngine) -> None:
    """So that a secret of which only a part is read is recognised."""
    printed = "".join(f"line {number}\n" for number in range(4000)).encode()
    task = await engine.finished("seq -f 'line %g' 0 3999")
    end = len(printed)

    for offset, limit in ((0, 10), (5, 10), (20_000, 500), (end - 10, 100), (end - 10, 4)):
        piece = await engine.output(task.id, offset=offset, limit=limit)
        last = offset + len(piece.content)
        assert piece.before == printed[max(0, offset - CONTEXT) : offset]
        assert piece.after == printed[last : last + CONTEXT]
    tail = await engine.tail(task.id, 3)
    assert printed.endswith(tail.before + tail.content)
    assert (len(tail.before), tail.content) == (CONTEXT, b"line 3997\nline 3998\nline 3999\n")


@pytest.mark.spec("O12")
async def test_nothing_beyond_a_gap_counts_as_around(engine: TestEngine) -> None:
    task = await engine.finished("seq 1 10000", output=8192)
    first = await engine.output(task.id, offset=10)
    assert first.after == b""
    second = await engine.output(task.id, offset=first.next_offset)

    assert second.missing > 0
    assert (second.before, second.after) == (b"", b"")
    later = await engine.output(task.id, offset=second.offset + 30)
    assert later.before == second.content[:30]


@pytest.mark.spec("O3")
async def test_polling_a_running_task_never_repeats_output(engine: TestEngine) -> None:
    task = await engine.started("echo ready; while read line; do echo got $line; done", input="pipe")
    seen, offset = b"", 0
    for word in ("one", "two", "three"):
        await engine.send(task.id, f"{word}\n".encode())
        await engine.printed(task.id, f"got {word}")
        piece = await engine.output(task.id, offset=offset)
        seen, offset = seen + piece.content, piece.next_offset
        assert (await engine.output(task.id, offset=offset)).content == b""

    assert seen == b"ready\ngot one\ngot two\ngot three\n"
    assert offset == len(seen)
    assert (await engine.output(task.id, offset=6, limit=7)).content == b"got one"


@pytest.mark.spec("O6")
async def test_output_beyond_the_cap_keeps_both_ends_and_says_how_much_is_missing(engine: TestEngine) -> None:
    cap = 8192
    task = await engine.finished("seq 100000; exit 3", output=cap)
    whole = "".join(f"{number}\n" for number in range(1, 100001)).encode()

    assert task.latest.truncated
    assert (task.latest.exit_code, task.latest.bytes, task.latest.lines) == (3, len(whole), 100000)
    head = await engine.output(task.id)
    tail = await engine.output(task.id, offset=head.next_offset)
    assert whole.startswith(head.content)
    assert whole.endswith(tail.content)
    assert tail.missing == len(whole) - len(head.content) - len(tail.content)
    log = Path(task.latest.output_file).read_bytes()
    assert f"{tail.missing:,} bytes not kept".encode() in log
    assert len(log) < cap + 1000


@pytest.mark.spec("O6")
async def test_the_configured_cap_applies_to_every_task(home: Home) -> None:
    async with embedded(home.path, **{"runs.output_cap": "4KiB"}) as engine:
        task = await engine.finished("seq 10000")
        assert task.latest.truncated
        assert os.stat(task.latest.output_file).st_size < 4096 + 1000


@pytest.mark.spec("O7")
async def test_the_last_twenty_lines_are_shown_by_default(home: Home) -> None:
    async with embedded(home.path) as engine:
        task = await engine.finished("seq 100")
        assert (await engine.tail(task.id)).content.split() == [b"%d" % n for n in range(81, 101)]
        assert (await engine.tail(task.id, 2)).content == b"99\n100\n"
    async with embedded(home.path, **{"runs.tail_lines": "3"}) as engine:
        assert (await engine.tail(task.id)).content == b"98\n99\n100\n"


@pytest.mark.spec("O8")
async def test_a_finished_run_has_its_numbers_and_a_summary_of_its_output(engine: TestEngine) -> None:
    report = "'======== 2 failed, 89 passed in 3.21s ========'"
    task = await engine.finished(f"pytest() {{ echo {report}; return 1; }}; pytest tests")
    run = task.latest

    assert (run.exit_code, run.lines) == (1, 1)
    assert run.elapsed is not None
    assert 0 < run.elapsed < 10
    assert run.completed_at is not None
    assert "89 passed" in (run.summary or "")
    assert "2 failed" in (run.summary or "")


@pytest.mark.spec("O9")
async def test_following_yields_the_output_as_it_comes_and_ends_with_the_run(engine: TestEngine) -> None:
    task = await engine.submit("echo one; read line; echo two", input="pipe")
    seen = b""
    async for piece in engine.follow(task.id):
        seen += piece
        if seen == b"one\n":
            await engine.send(task.id, b"\n")

    assert seen == b"one\ntwo\n"
    assert (await engine.get(task.id)).state == "completed"


@pytest.mark.spec("O9")
@pytest.mark.timeout(60)
async def test_following_a_flood_does_not_starve_the_event_loop(
    engine: TestEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await engine.started(WAITING, input="pipe")
    monkeypatch.setattr(engine.engine, "output", lambda *_, offset, **__: piece_at(offset))

    async def follow() -> None:
        async for _ in engine.follow(task.id):
            pass

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(follow(), 0.2)


@pytest.mark.spec("O9")
async def test_following_continues_after_output_that_was_overwritten_before_it_was_read(
    engine: TestEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await engine.started(WAITING, input="pipe")
    asked: list[int] = []

    def overwritten(*_: object, offset: int, **__: object) -> Piece:
        asked.append(offset)
        if len(asked) > 3:
            return piece_at(offset)
        return Piece(content=b"", offset=offset + 1000, next_offset=offset + 1000, missing=1000)

    monkeypatch.setattr(engine.engine, "output", overwritten)
    async for _ in engine.follow(task.id):
        break

    assert asked == [0, 1000, 2000, 3000]


def piece_at(offset: int) -> Piece:
    return Piece(content=b"y", offset=offset, next_offset=offset + 1)


@pytest.mark.spec("O9")
async def test_following_a_task_that_has_printed_begins_at_the_beginning(engine: TestEngine) -> None:
    task = await engine.started(f"{WAITING}; echo late", input="pipe")
    follower = engine.follow(task.id)
    await engine.send(task.id, b"\n")

    assert b"".join([piece async for piece in follower]) == b"ready\nlate\n"


@pytest.mark.spec("O9")
async def test_following_a_task_that_has_not_started_waits_for_it(engine: TestEngine) -> None:
    first = await engine.started(WAITING, input="pipe")
    task = await engine.submit("echo later", after=[first.id])
    follower = engine.follow(task.id)
    await engine.send(first.id, b"\n")

    assert b"".join([piece async for piece in follower]) == b"later\n"


@pytest.mark.spec("O10")
@pytest.mark.parametrize(
    ("report", "percent", "text"),
    [
        ("echo '::progress 3/10 compiling'", 30, "compiling"),
        ("echo '::progress 42% linking'; echo 9/10", 42, "linking"),
        ("echo '3/10 compiling' > $ERRANDS_PROGRESS", 30, "compiling"),
        ("echo starting; echo 'downloaded 42%'", 42, ""),
        (r"printf '\r10%%\r20%%\r30%%'", 30, ""),
        ("echo 7/10", 70, ""),
    ],
)
async def test_reported_progress_is_visible_while_the_task_runs(
    engine: TestEngine, report: str, percent: float, text: str
) -> None:
    task = await engine.submit(f"{report}; read line", input="pipe")
    progress = await until(lambda: engine.engine.get(task.id).progress)

    assert progress is not None
    assert (progress.percent, progress.text) == (percent, text)


@pytest.mark.spec("O16")
async def test_files_that_a_task_leaves_are_listed_and_kept_as_long_as_the_task(
    engine: TestEngine, home: Home
) -> None:
    task = await engine.finished("echo '<b>fine</b>' > $ERRANDS_RUN_DIR/report.html")
    found = await engine.get(task.id)

    assert (found.details or {})["files"] == ["report.html"]
    assert (Path(home.run(task.latest.id)) / "report.html").read_text() == "<b>fine</b>\n"
    await engine.clear(task.id)
    assert not os.path.exists(home.run(task.latest.id))


@pytest.mark.spec("O5")
async def test_a_result_is_marked_retrieved_when_it_is_read_for_the_first_time(engine: TestEngine) -> None:
    task = await engine.started(WAITING, input="pipe")
    engine.engine.mark_retrieved(task)
    assert (await engine.get(task.id)).latest.retrieved_at is None

    await engine.send(task.id, b"\n")
    ended = await engine.wait(task.id)
    engine.engine.mark_retrieved(ended)
    first = (await engine.get(task.id)).latest.retrieved_at
    engine.engine.mark_retrieved(ended)

    assert first is not None
    assert ended.latest.completed_at is not None
    assert first >= ended.latest.completed_at
    assert (await engine.get(task.id)).latest.retrieved_at == first


@pytest.mark.parametrize("number", ["0", "2", "9" * 30, "x"])
async def test_a_run_that_does_not_exist_has_no_output(engine: TestEngine, number: str) -> None:
    task = await engine.finished("true")
    with pytest.raises(NotFound):
        await engine.output(f"{task.id}.{number}")
