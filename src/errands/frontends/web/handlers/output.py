"""Output of runs: windows of it, its end, a search, and the whole as a download.

A window is masked with the bytes around it, so that a secret is hidden wherever it is cut. A log is never
masked as a whole: eleven megabytes would take 1.5 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from errands.engine.engine import Engine
from errands.frontends.web.api.bodies import MOST_LOGS
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call, Download, Handler
from errands.model.errors import BadValue, ErrandsError, NotFound
from errands.model.text.mask import Mask
from errands.model.text.sanitise import line
from errands.ports.output import CONTEXT, Piece
from errands.text import clip
from errands.text.error_line import error_line

WINDOW = 65_536
_SEARCHED = 8 << 20  # bytes that one search looks at; the page asks again for the rest
_AROUND = 400  # characters of a line that is shown alone
_LAST_LINES = 1000  # that are searched for the cause of a failure


def _run_id(engine: Engine, task: str, run: int | None) -> str:
    """Return the id of a run of a task, or of its latest."""
    if run is None:
        latest = engine.view(task).latest
        if not latest.number:
            raise NotFound(f"{task} has not run yet, so it has no output")
        return latest.id
    return engine.run(f"{task}.{run}").id


def window(engine: Engine, mask: Mask, run_id: str, piece: Piece) -> dict[str, Any]:
    """Return a piece of output as the API shows it."""
    run = engine.run(run_id)
    return shaped(
        "Output",
        piece,
        run=run_id,
        end=max(piece.next_offset, end_of(engine, run_id)),
        live=run.state in ("pending", "running"),
        text=mask.output(piece.content, before=piece.before, after=piece.after, colour=True),
    )


def end_of(engine: Engine, run_id: str) -> int:
    return engine.tail(run_id, 1).next_offset


def cause(engine: Engine, run_id: str) -> str:
    """Return the line of a run's last output that tells why it failed; empty without output."""
    try:
        piece = engine.tail(run_id, _LAST_LINES)
    except ErrandsError:
        return ""  # it never ran, or its output is gone
    if len(piece.content) > WINDOW:  # few lines, but very long ones
        piece = engine.output(run_id, offset=piece.next_offset - WINDOW, limit=WINDOW)
    mask = engine.mask(run_id.rpartition(".")[0])
    shown = mask.output(piece.content, before=piece.before, after=piece.after, colour=False)
    return clip(error_line([line(each) for each in shown.split("\n")]), _AROUND)


def output(call: Call) -> Answer:
    task = call.task
    run_id = _run_id(call.engine, task, call.values["run"])
    piece = call.engine.output(run_id, offset=call.values["offset"], limit=call.values["limit"])
    return window(call.engine, call.engine.mask(task), run_id, piece)


def output_end(call: Call) -> Answer:
    task = call.task
    run_id = _run_id(call.engine, task, call.values["run"])
    piece = call.engine.tail(run_id, call.values["lines"])
    if len(piece.content) > 4 * WINDOW:  # few lines, but very long ones
        piece = call.engine.output(run_id, offset=piece.next_offset - 4 * WINDOW, limit=4 * WINDOW)
    return window(call.engine, call.engine.mask(task), run_id, piece)


def output_find(call: Call) -> Answer:
    task, values = call.task, call.values
    engine, wanted = call.engine, values["text"].casefold()
    run_id, mask = _run_id(engine, task, values["run"]), engine.mask(task)
    matches: list[dict[str, Any]] = []
    offset, stop = values["offset"], values["offset"] + _SEARCHED
    while len(matches) < values["limit"] and offset < stop:
        piece = engine.output(run_id, offset=offset, limit=4 * WINDOW)
        if not piece.content:
            return {"run": run_id, "matches": matches, "next_offset": None}
        offset = _find(piece, wanted, mask, matches, values["limit"])
    return {"run": run_id, "matches": matches, "next_offset": offset}


def _find(piece: Piece, wanted: str, mask: Mask, matches: list[dict[str, Any]], limit: int) -> int:
    """Add the lines of a piece that contain a text; return where to continue the search.

    A line that the piece cuts is searched again with the next one, unless it is as long as the piece.
    """
    whole, _, _ = piece.content.rpartition(b"\n")
    content = whole + b"\n" if whole and piece.after else piece.content
    start = piece.next_offset - len(piece.content)
    for place, end in _lines(content, wanted):
        # What a mask hides must not be found by trying.
        before = (piece.before + content[:place])[-CONTEXT:]
        after = (piece.content[end:] + piece.after)[:CONTEXT]
        shown = line(mask.output(content[place:end].rstrip(b"\r\n"), before=before, after=after))
        found = shown.casefold().find(wanted)
        if found >= 0:
            first = max(0, found - _AROUND // 2)
            matches.append({"offset": start + place, "line": shown[first : first + _AROUND]})
            if len(matches) == limit:
                return start + end
    return start + len(content)


def _lines(content: bytes, wanted: str) -> Iterator[tuple[int, int]]:
    """Yield where lines that have a text begin and end."""
    if not wanted.isascii():
        place = 0
        for part in content.splitlines(keepends=True):
            if wanted in part.decode("utf-8", "replace").casefold():
                yield place, place + len(part)
            place += len(part)
        return
    # Most texts are ASCII: their bytes are found twenty times as fast as characters.
    lowered, text = content.lower(), wanted.encode()
    found = lowered.find(text)
    while found >= 0:
        place, end = lowered.rfind(b"\n", 0, found) + 1, lowered.find(b"\n", found) + 1 or len(content)
        yield place, end
        found = lowered.find(text, end)


def output_raw(call: Call) -> Answer:
    run_id = _run_id(call.engine, call.task, call.values["run"])
    offset = 0

    def read(engine: Engine) -> bytes:
        nonlocal offset
        piece = engine.output(run_id, offset=offset, limit=4 * WINDOW)
        offset = piece.next_offset
        return piece.content

    return Download(name=f"{run_id}.log", read=read)


class OutputReader:
    """Follows the output of a run for a page, from an offset."""

    def __init__(self, run_id: str, offset: int) -> None:
        self.run = run_id
        self.task = run_id.rpartition(".")[0]
        self._offset = offset
        self._mask: Mask | None = None
        self._is_over = False
        self.holds = False  # whether there is the beginning of a word, which may be that of a secret

    def next(self, engine: Engine, *, flush: bool) -> dict[str, Any] | None:
        """Return what was printed since, up to a window; None if nothing was. Report the end once."""
        if self._is_over:
            return None
        is_live = engine.run(self.run).state in ("pending", "running")
        piece = engine.output(self.run, offset=self._offset, limit=WINDOW)
        content = piece.content
        if is_live and not flush and not piece.after:
            cut = max(content.rfind(b"\n"), content.rfind(b" ")) + 1
            content = content if len(content) - cut > 4096 else content[:cut]
        self.holds = len(content) < len(piece.content)
        if not content and (is_live or piece.content):
            return None
        if self._mask is None:
            self._mask = engine.mask(self.task)
        self._is_over = not is_live and not content
        self._offset = piece.next_offset - len(piece.content) + len(content)
        cut_piece = Piece(
            content=content,
            offset=piece.offset,
            next_offset=self._offset,
            missing=piece.missing,
            before=piece.before,
            after=piece.content[len(content) :] + piece.after,
        )
        return window(engine, self._mask, self.run, cut_piece)


def log_requests(engine: Engine, text: str) -> list[OutputReader]:
    """Read which runs a page follows: `ID.NUMBER@OFFSET`, or without an offset from the end."""
    words = [each for each in text.split(",") if each]
    if len(words) > MOST_LOGS:
        raise BadValue(f"logs can name {MOST_LOGS} runs at most (got {len(words)})")
    readers = []
    for word in words:
        name, at, offset = word.partition("@")
        task, _, number = name.rpartition(".")
        if not _is_number(number) or (at and not _is_number(offset)):
            raise BadValue(f"logs must be like pytest-7k2m4x.1@0 (got {word[:80]!r})")
        run_id = engine.run(f"{engine.resolve(task)}.{int(number[:9])}").id
        readers.append(OutputReader(run_id, int(offset[:18]) if at else end_of(engine, run_id)))
    return readers


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def file(call: Call) -> Answer:
    """Return a file that a run left: whatever it is, it is only to be saved."""
    run_id, name = _run_id(call.engine, call.task, call.values["run"]), call.values["name"]
    handle = open(call.engine.open_file(run_id, name), "rb")  # noqa: SIM115  # it is read while it is sent

    def read(engine: Engine) -> bytes:
        piece: bytes = b"" if handle.closed else handle.read(4 * WINDOW)
        if not piece:
            handle.close()
        return piece

    return Download(name=name.rpartition("/")[2], read=read)


HANDLERS: dict[str, Handler] = {
    "output": output,
    "output-end": output_end,
    "output-find": output_find,
    "output-raw": output_raw,
    "file": file,
}
