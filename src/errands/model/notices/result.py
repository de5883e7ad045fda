"""The result in a notice: an agent's answer, or what a command printed, cut to the room that a message has.

A long answer is shown by its beginning, because an agent says the most important thing first; a long output
by its first lines and more of its last ones, because a command says at its end how it went. Wherever
something is left out, it says where to read it.
"""

from __future__ import annotations

from errands.model.record import record
from errands.model.text.sanitise import line, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LONGEST = 16_000  # bytes of a result in one message
STORED = LONGEST + 100  # bytes of an answer in a notice: enough to see that there is more
FIRST = LONGEST // 4  # bytes of them for the beginning of an output


@record
class Hints:
    """How the reader of a notice reaches the task `ID`, and how many lines of its result are shown.

    By default the reader is a person in a shell, and what has room is shown.
    """

    show: str = "errands show ID"
    logs: str = "errands logs ID"
    answer: str = "errands approve ID or errands reject ID"
    lines: int = LONGEST


SHELL = Hints()


def result(facts: Mapping[str, Any], room: int, hints: Hints = SHELL) -> str:
    """Return the result in a notice's facts in at most that many bytes, or an empty text."""
    room, task = min(room, LONGEST), line(str(facts.get("task", "")))
    if answer := facts.get("answer"):
        rest = f"[... the rest: {hints.show.replace('ID', task)}]"
        return _beginning(_clean(answer), room, hints.lines, rest)
    first, last = _clean(facts.get("result")), _clean(facts.get("result_end"))
    gap = f"[... the whole output: {hints.logs.replace('ID', task)} ...]"
    if not last and len(first.encode()) <= room and first.count("\n") < hints.lines:
        return first
    space = room - len(gap.encode()) - 2
    if space < 2:
        return cut(gap, room)
    above = hints.lines // 4
    head = cut(_lines(first, slice(above)), space // 4)
    below = _lines(last or first, slice(above - hints.lines, None)).encode()
    tail = below[-(space - len(head.encode())) :].decode("utf-8", "ignore")
    return "\n".join(filter(None, (head.rstrip("\n"), gap, tail.lstrip("\n"))))


def quoted(words: str, budget: int) -> str:
    """Put outside text behind a margin that it cannot leave, in at most that many bytes."""
    whole = "\n".join(f"> {each}" for each in visible(words).strip("\n").split("\n"))
    return cut(whole, budget).removesuffix("\n>").removesuffix("\n")


def quoted_result(facts: Mapping[str, Any], budget: int, hints: Hints = SHELL) -> str:
    """Return the result in a notice behind a margin, in at most that many bytes."""
    room, said = budget, result(facts, budget, hints)
    while room and (size := len(said.encode()) + 2 * (said.count("\n") + 1)) > budget:
        room = min(room - 1, room * budget // size)
        said = result(facts, room, hints)
    return quoted(said, budget) if said else ""


def cut(words: str, size: int, *, mark: str = "") -> str:
    """Cut text to that many bytes, never inside a character."""
    content = words.encode()
    if len(content) <= size:
        return words
    return content[: max(0, size - len(mark.encode()))].decode("utf-8", "ignore") + mark


def _clean(words: object) -> str:
    return visible(str(words)).strip("\n") if words else ""


def _beginning(words: str, room: int, lines: int, rest: str) -> str:
    first = _lines(words, slice(lines))
    if first == words and len(words.encode()) <= room:
        return words
    return cut(f"{cut(first, max(0, room - len(rest.encode()) - 1))}\n{rest}", room)


def _lines(words: str, which: slice) -> str:
    return "\n".join(words.split("\n")[which])
