"""Tasks of other homes as text: what `show` prints, their JSON for scripts, and their output in pieces."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from errands.engine.fleet import far_task
from errands.model.text.duration import spoken
from errands.model.text.mask import Mask
from errands.model.text.sanitise import line
from errands.ports.output import Piece

if TYPE_CHECKING:
    from errands.frontends.cli.live.output_filter import OutputFilter
    from errands.ports.fleet import FoundRun


def mask_of(run: FoundRun) -> Mask:
    """Return a mask for the secrets that were given to the task and those of this environment."""
    mask = Mask(dict(os.environ))
    mask.add(run.body.get("env", {}))
    return mask


def print_pieces(output: OutputFilter, pieces: list[tuple[int, bytes]], offset: int) -> int:
    """Print pieces of output, and what is missing between them; return the offset after them."""
    for start, content in pieces:
        if start > offset:
            output.gap(start - offset)
        output.show(Piece(content=content, offset=start, next_offset=start + len(content)))
        offset = start + len(content)
    sys.stdout.flush()
    return offset


def joined(pieces: list[tuple[int, bytes]], offset: int) -> Piece:
    """Return pieces as one, from the last gap between them."""
    first, last, content = offset, offset, b""
    missing = 0
    for start, more in pieces:
        if start > last:
            missing += start - last
            first, content = start, b""
        content += more
        last = start + len(more)
    return Piece(content=content, offset=first, next_offset=last, missing=missing)


def last_lines(pieces: list[tuple[int, bytes]], count: int) -> Piece:
    whole = joined(pieces, 0)
    lines = whole.content.splitlines(keepends=True)
    kept = b"".join(lines[-count:] if count else [])
    cut = len(whole.content) - len(kept)
    return Piece(
        content=kept,
        offset=whole.offset + cut,
        next_offset=whole.next_offset,
        before=whole.content[max(cut - 4096, 0) : cut],
    )


def flat(run: FoundRun) -> dict[str, Any]:
    """Return a task of another home as JSON fields, with the names that a task of this home has."""
    found = None if run.outcome is None else far_task.ending(run.outcome)
    return {
        "id": run.task,
        "run_id": far_task.run_id(run),
        "kind": "remote",
        "state": far_task.word(run),
        "task_state": None,
        "home": run.home_name,
        "host": run.selector,
        "runs_on": run.host or None,
        "lane": run.lane,
        "command": far_task.commands(run.body),
        "cwd": run.body.get("cwd"),
        "exit_code": None if found is None else found.code,
        "signal": None if found is None else found.signal,
        "error": far_task.error_of(run) or None,
    }


def pairs(run: FoundRun, why: str) -> list[tuple[str, str]]:
    """Return the facts that `show` prints, `why` no host has the run among them."""
    asked = far_task.asked(run)
    return [
        (
            "prompt" if "prompt" in run.body else "command",
            "\n".join(map(line, far_task.commands(run.body).split("\n"))),
        ),
        ("directory", line(str(run.body.get("cwd", "")))),
        ("home", line(run.home_name) + ("" if run.home_is_up else " (out of touch)")),
        ("host", line(run.host) or line(why)),
        ("lane", line(run.lane)),
        ("result", line(far_task.error_of(run))),
        ("ended", "" if run.ended is None else f"{spoken(timedelta(seconds=round(run.ended)))} ago"),
        ("answer", "\n".join(map(line, str(run.view.get("answer") or "").split("\n")))),
        ("asks", "" if asked is None else "\n".join(map(line, asked.texts))),
        ("approve", "" if asked is None else f"errands approve {run.task}"),
    ]
