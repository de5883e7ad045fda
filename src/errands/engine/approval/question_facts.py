"""The facts that a person has to see before the answer to a question."""

from __future__ import annotations

import os

from errands.model.action import written
from errands.model.verdict import HIDING
from errands.text.question import is_visible, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from errands.engine.core import EngineCore
    from errands.model.view import View

# The question shows scripts of up to this many bytes and lines; a longer command is too long for lists.
LONGEST, MOST_LINES = 2000, 30


def facts_of(engine: EngineCore, environ: Mapping[str, str], view: View) -> Iterator[tuple[str, str]]:
    """Yield everything that would run, where, and why it needs approval; secrets are not masked.

    Each command and variable is a fact of its own, so that none of them can pass for two.
    """
    details = view.details or {}
    if view.agent is not None:
        yield "prompt", visible(view.command)
    for command in details.get("before", ()):
        yield "before", _written(command)
    steps = details.get("commands", ())
    for number, command in enumerate(steps, 1):
        yield f"step {number} of {len(steps)}" if len(steps) > 1 else "command", _written(command)
    for command in details.get("finally", ()):
        yield "finally", _written(command)
    if view.standing is not None:
        yield "when", visible(view.standing.rule)
    if details.get("watched"):
        yield "checked by", visible(details["watched"])
    yield "directory", visible(view.cwd)
    if details.get("sandbox"):
        yield "sandbox", visible(sandbox_text(details["sandbox"]))
    for name, value in details["env"].items():
        yield "variable", f"{visible(name)}={value}"
    for name, value in _inherited(engine, environ, view):
        yield "inherited", f"{visible(name)}={value}"
    for path, mark in (details["evidence"] or {}).get("files", {}).items():
        if mark and mark != "directory":
            yield "content of", visible(path)
            yield "", _content(path, mark)
    for reason in view.question.reasons if view.question else ():
        yield "because", visible(reason.text)


def is_hidden(texts: Iterable[str], kinds: Iterable[str]) -> bool:
    """Return whether only the question shows what would run, given its texts and the kinds of its reasons.

    Lists and notices show the command and the reasons, which is usually enough for an approval. It is not if
    they mask secrets, if the command is too long for them or has hidden characters, or if the reasons only
    say that something is hidden: then a person at a terminal is asked again, below the whole question.
    """
    from errands.model.text.mask import Mask

    mask = Mask({})
    return not HIDING.isdisjoint(kinds) or any(
        _is_long(text) or mask.text(text) != text or not is_visible(text) for text in texts
    )


def _is_long(text: str) -> bool:
    return len(text) > LONGEST or text.count("\n") > MOST_LINES


def hides(view: View) -> bool:
    """Return whether only the question about a task shows what would run, if there is a question."""
    may_leave_walls = view.verdict == "contained" and view.state == "failed"
    if view.question is None and not may_leave_walls:
        return False
    details, reasons = view.details or {}, view.question.reasons if view.question else ()
    steps = [*details.get("before", ()), *details.get("commands", ()), *details.get("finally", ())]
    texts = [*map(_written, steps), details.get("watched") or "", *(each.text for each in reasons)]
    return is_hidden(texts if view.agent is None else [view.command, *texts], [each.kind for each in reasons])


def headline(view: View) -> str:
    """Return the line above a question."""
    lasting = view.question and any(reason.undo == "no" for reason in view.question.reasons)
    return "This cannot be undone. It needs your approval:" if lasting else "This needs your approval:"


def _inherited(engine: EngineCore, environ: Mapping[str, str], view: View) -> Iterator[tuple[str, str]]:
    """Yield variables that change what programs load or start, unless the person's own are the same."""
    from errands.judge.shell.variables import removed

    variables = engine.environment(view.id)
    for name in removed(variables):
        if environ.get(name) != variables[name]:
            yield name, variables[name]


def sandbox_text(sandbox: dict[str, Any]) -> str:
    """Return what a sandbox allows."""
    network = "with" if sandbox["network"] else "no"
    return f"writes to {', '.join(sandbox['writable'])} only; {network} network"


def _content(path: str, mark: str) -> str:
    """Return a short script as it was when the question was asked."""
    from errands.judge.evidence.evidence import fingerprint

    try:
        # Do not block on a pipe that was put in its place.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            content = file.read(LONGEST + 1) or b""
        if fingerprint(path) != mark:
            return "(it is being changed)"
        if len(content) > LONGEST or content.count(b"\n") > MOST_LINES:
            return "(too long to show here)"
        return content.decode().rstrip("\n")
    except (OSError, UnicodeError):
        return "(not text)"


def _written(command: Any) -> str:
    return written(command if isinstance(command, str) else tuple(command))


def masked(text: str) -> str:
    """Return a text that repeats words of a command, with secrets masked, and safe for a terminal."""
    from errands.model.text.mask import Mask

    return visible(Mask({}).text(text))
