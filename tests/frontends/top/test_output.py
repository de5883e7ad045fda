"""Output in the viewer: follow, find, wrap, long lines and hostile text; only what is seen is read."""

from __future__ import annotations

import pytest

from errands.frontends.top.task.conversation_view import ConversationView
from errands.frontends.top.task.log_text import CHUNK, LogText
from errands.model.text.mask import Mask
from errands.ports.home import Home
from errands.ports.output import CONTEXT, Piece
from errands.testing.engines import TestEngine, until
from tests.frontends.top.viewer import Viewer, viewing

pytestmark = pytest.mark.spec("X9")


class Source:
    """A log in memory, which counts what is read of it."""

    def __init__(self, content: bytes, lost: tuple[int, int] = (0, 0)) -> None:
        self.content = content
        self.lost = lost
        self.read_bytes = 0

    def read(self, offset: int, limit: int) -> Piece:
        begin, end = self.lost
        missing = end - offset if begin <= offset < end else 0
        offset += missing
        last = begin if offset < begin else len(self.content)
        content = self.content[offset : min(offset + limit, last)]
        self.read_bytes += len(content)
        return Piece(
            content=content,
            offset=offset,
            next_offset=offset + len(content),
            missing=missing,
            before=self.content[max(0, offset - CONTEXT) : offset],
            after=self.content[offset + len(content) : offset + len(content) + CONTEXT],
        )


def text_of(source: Source, *, columns: int = 80, mask: Mask | None = None) -> LogText:
    log = LogText(source.read, mask or Mask({}), colour=True, columns=columns)
    log.grow()
    return log


def rows(log: LogText, top: int, height: int) -> list[str]:
    top += log.prepare(top, height)
    found = [log.row_at(each) for each in range(top, min(top + height, log.rows))]
    return [line[begin:end] for line, begin, end in found]


def test_every_line_is_found_by_its_row() -> None:
    lines = [f"line {number} of many" for number in range(30_000)]
    log = text_of(Source("\n".join(lines).encode() + b"\n"))

    assert log.rows == log.lines == 30_000
    assert [row for top in range(0, 30_000, 50) for row in rows(log, top, 50)] == lines


def test_rows_are_the_text_broken_at_the_width() -> None:
    text = "ab" * 100_000
    log = text_of(Source(text.encode()), columns=40)
    found: list[str] = []
    while len(found) < log.rows:
        found += rows(log, len(found), 50)

    assert "".join(found) == text
    assert max(map(len, found)) == 40


def test_opening_at_the_end_reads_little_as_text() -> None:
    source = Source(b"x" * (10 << 20))
    log = text_of(source)
    source.read_bytes = 0

    log.prepare(log.rows - 24, 24)

    assert source.read_bytes <= 2 * CHUNK


def test_what_grows_is_added_to_the_end() -> None:
    source = Source(b"one\ntw")
    log = text_of(source)
    source.content += b"o\nthree\n"

    assert log.grow()
    assert rows(log, 0, 10) == ["one", "two", "three"]
    assert not log.grow()


def test_wide_characters_are_not_cut() -> None:
    log = text_of(Source("日本語のログ".encode()), columns=5)

    assert rows(log, 0, 10) == ["日本", "語の", "ログ"]


def test_a_hard_cut_keeps_characters_whole() -> None:
    text = "ü" * CHUNK
    log = text_of(Source(b"x" + text.encode()), columns=0)

    assert "".join(rows(log, 0, 10)) == "x" + text


def test_secrets_are_masked_where_chunks_meet() -> None:
    secret = "hunter2-" * 4
    mask = Mask({"API_TOKEN": secret})
    before = b"x" * (CHUNK - 10)
    log = text_of(Source(before + b" " + secret.encode() + b" end"), mask=mask)

    shown = "".join(rows(log, 0, log.rows + 5))

    assert "hunter2" not in shown
    assert "[masked: API_TOKEN]" in shown


def test_what_was_not_kept_is_said_and_found() -> None:
    source = Source(b"begin\n" + b"-" * 1000 + b"end\n", lost=(6, 1006))
    log = text_of(source)

    assert rows(log, 0, 10) == ["begin", "[... 1,000 bytes not kept ...]", "end"]
    assert log.find_gap(0) == 1


def test_a_text_is_found_in_both_directions_whatever_its_colours() -> None:
    lines = [f"line {number}" for number in range(20_000)]
    lines[15_000] = "some \x1b[31mERR\x1b[0mOR: here"
    log = text_of(Source("\n".join(lines).encode()))
    log.prepare(0, 24)

    assert log.find("error: h", 0, step=1) == 15_000
    assert log.find("error: h", 19_000, step=-1) == 15_000
    assert log.find("error: h", 15_000, step=1) is None
    assert log.find_error(0, step=1) == 15_000
    assert log.find("not there", 0, step=1) is None


async def opened(viewer: Viewer, task_id: str) -> None:
    await viewer.press("2")
    await viewer.shows(task_id)
    await viewer.press("enter")
    await viewer.shows(" output ", f"{task_id}  ")


async def test_following_stops_above_and_starts_again_at_the_end(engine: TestEngine, home: Home) -> None:
    task = await engine.started(
        "seq 1000; echo ready; while read line; do echo got $line; done", input="pipe"
    )
    async with viewing(home) as viewer:
        await opened(viewer, task.id)
        await viewer.shows("ready", "follow")
        await engine.send(task.id, b"one\n")
        await viewer.shows("got one")

        await viewer.press("k")
        await viewer.hides("follow ·")
        above = viewer.lines[5]
        await engine.send(task.id, b"two\n")
        await until(lambda: viewer.app.task_view.output.rows == 1003)
        await viewer.pilot.pause()
        assert "got two" not in viewer.screen
        assert viewer.lines[5] == above

        await viewer.press("G")
        await viewer.shows("got two", "follow ·")
        await engine.send(task.id, b"three\n")
        await viewer.shows("got three")


async def test_a_text_is_found_and_marked(engine: TestEngine, home: Home) -> None:
    task = await engine.finished("seq 1 2000; echo needle here; seq 2001 4000")
    async with viewing(home) as viewer:
        await opened(viewer, task.id)
        await viewer.shows("4000")
        await viewer.press("slash")
        await viewer.types("NEEDLE")
        await viewer.shows("needle here")
        await viewer.press("slash")
        await viewer.types("not there")
        await viewer.shows("'not there' is not in the output")


async def test_long_lines_wrap_or_scroll_sideways(engine: TestEngine, home: Home) -> None:
    task = await engine.finished(["printf", "%s", "begin" + "-" * 90 + "end"])
    async with viewing(home) as viewer:
        await opened(viewer, task.id)
        await viewer.shows("begin", "end")
        await viewer.press("w")
        await viewer.hides("-end")
        await viewer.press(*["right"] * 3)
        await viewer.shows("-end")


async def test_hostile_output_is_shown_and_not_obeyed(engine: TestEngine, home: Home) -> None:
    task = await engine.finished(
        ["printf", "%b", "a\\033[2J\\033]0;title\\007b [bold red]c[/] \\342\\200\\256d\\033[31me\\n"]
    )
    async with viewing(home) as viewer:
        await opened(viewer, task.id)
        screen = await viewer.shows("ab [bold red]c[/] de")
    assert "\x1b" not in screen
    assert "\u202e" not in screen


async def test_earlier_runs_have_their_own_output(engine: TestEngine, home: Home) -> None:
    task = await engine.finished('echo "run $ERRANDS_RUN_ID"')
    await engine.restart(task.id)
    await engine.wait(task.id)
    async with viewing(home) as viewer:
        await opened(viewer, task.id)
        await viewer.shows(f"run {task.id}.2")
        await viewer.press("left_square_bracket")
        await viewer.shows(f"run {task.id}.1", "run 1 of 2")
        await viewer.press("tab")
        await viewer.shows("runs", "restart", "submit")


async def test_input_is_sent(engine: TestEngine, home: Home) -> None:
    task = await engine.started("echo ready; read line; echo got $line", input="pipe")
    async with viewing(home) as viewer:
        await opened(viewer, task.id)
        await viewer.press("s")
        await viewer.shows(f"input for {task.id}:")
        await viewer.types("hello there")
        await viewer.shows("got hello there")


async def test_an_agent_is_resumed_by_typing_a_prompt(engine: TestEngine, home: Home) -> None:
    task = await engine.answered("`echo one`")
    async with viewing(home) as viewer:
        await opened(viewer, task.id)
        await viewer.shows("conversation", "asked")
        await viewer.press("u")
        await viewer.shows(f"prompt for {task.id}:")
        await viewer.types("say two")
        await viewer.shows("say two")
        await until(lambda: engine.engine.view(task.id).runs == 2)


async def test_the_output_takes_the_whole_screen(engine: TestEngine, home: Home) -> None:
    task = await engine.finished("seq 100")
    async with viewing(home) as viewer:
        await opened(viewer, task.id)
        await viewer.shows("100", " runs ")
        await viewer.press("z")
        await viewer.hides(" runs ")
        assert "errands" not in viewer.screen
        assert len([line for line in viewer.lines if line.isdecimal()]) == 23
        await viewer.press("escape")
        await viewer.shows(" runs ", "errands", "100")


async def test_calls_of_an_agent_are_folded_and_lead_to_their_tasks(engine: TestEngine, home: Home) -> None:
    task = await engine.answered("run `echo one` and `printf 'two\\nlines\\n'; exit 3`")
    async with viewing(home) as viewer:
        await opened(viewer, task.id)
        await viewer.shows("asked", "▸ command  echo one", "▸ command  printf", "answered")
        assert "── result" not in viewer.screen
        calls = [number for number, line in enumerate(viewer.lines) if line.startswith("▸ command")]
        await viewer.press("g", *["j"] * (calls[0] - 5), "enter")
        await viewer.shows("▾ command  echo one", "it started echo-", "── result", "▸ command  printf")
        await viewer.press("j", "j", "enter")
        child = await viewer.shows("✓ completed", "echo one", "output")
        assert child.split("\n")[2].startswith("echo-")
        await viewer.press("escape")
        await viewer.shows("▸ command  echo one", f"{task.id}  ✓ completed")
        assert await viewer.pilot.click(ConversationView, offset=(3, calls[1] - 5))
        assert await viewer.pilot.click(ConversationView, offset=(3, calls[1] - 5))
        await viewer.shows("▾ command  printf", "exit 3", "lines")


async def test_a_new_task_is_started_and_opened(engine: TestEngine, home: Home) -> None:
    async with viewing(home) as viewer:
        await viewer.press("o")
        await viewer.shows("new task:")
        await viewer.types("echo from here")
        await viewer.shows("started echo-", "✓ completed", "from here")
        await viewer.press("o")
        await viewer.types("rm -rf build")
        await viewer.shows("it waits for your answer", "Start it?")
        await viewer.press("i")
        await viewer.types("> `echo asked`")
        await viewer.shows("conversation", "asked", "answered")
        await viewer.press("o")
        await viewer.types("exit (")
        await viewer.shows("syntax")
