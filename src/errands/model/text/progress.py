"""Progress: how far a task has come.

A task reports it with a line `::progress 3/10 text` or `::progress 42% text`, or by writing the same without
the first word to the file in $ERRANDS_PROGRESS. Without a report, the last line of its output is searched for
a separate `42%` or `3/10`. 24/7, 1/1, dates (11/15/2026, 11/15 09:30) and parts of paths are not counts.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.record import record
from errands.model.text.sanitise import line as one_line
from errands.model.text.sanitise import visible

MARKER = "::progress"
LONGEST_TEXT = 200

_LONGEST_LINE = 2000
_LONGEST_ETA = timedelta(days=365)
_DIGITS = frozenset("0123456789")
# What may surround a count or a percentage; tqdm writes `45%|###  | 45/100 [00:10<00:12`.
_BEFORE = frozenset(" \t([{|:=,<>")
_AFTER = frozenset(" \t)]}|:,;")


@record
class Progress:
    """How far a task has come; `done` and `total` are set if it counts."""

    percent: float
    done: int | None = None
    total: int | None = None
    text: str = ""


def parse(text: str) -> Progress | None:
    """Parse an explicit report: `3/10 text` or `42% text`, with or without the marker."""
    line = text.strip().removeprefix(MARKER).strip()
    amount, _, words = line.partition(" ")
    said = one_line(words.strip())[:LONGEST_TEXT]
    if amount.endswith("%") and (share := _decimal(amount[:-1])) is not None:
        return Progress(percent=min(share, 100.0), text=said)
    done, slash, total = amount.partition("/")
    if slash and _is_count(done) and _is_count(total) and int(total) > 0:
        return _counted(int(done), int(total), said)
    return None


def recognised(line: str) -> Progress | None:
    """Find a count or a percentage in one line of ordinary output."""
    clean = visible(line[-_LONGEST_LINE:]).rstrip()
    share = _percentage(clean)
    count = _count(clean)
    if count is not None and share is not None and abs(count.percent - share) > 1.0:
        # They disagree, and only the percentage is certain to mean progress.
        count = None
    return count or (None if share is None else Progress(percent=share))


def latest(output: str) -> Progress | None:
    """Return the progress at the end of a task's output: its last report, or else its last line."""
    lines = [line for line in output.replace("\r", "\n").split("\n") if line.strip()]
    for line in reversed(lines):
        if line.startswith(MARKER) and (progress := parse(line)) is not None:
            return progress
    return recognised(lines[-1]) if lines else None


def bar(progress: Progress, width: int, *, plain: bool = False) -> str:
    """Draw a bar of exactly `width` characters, in ASCII if `plain`."""
    full, empty = ("#", ".") if plain else ("█", "░")
    filled = int(width * min(max(progress.percent, 0.0), 100.0) / 100)
    return full * filled + empty * (width - filled)


def eta(progress: Progress, elapsed: timedelta) -> timedelta | None:
    """Estimate the time left from the time so far; None if it is too early."""
    if progress.percent <= 0 or elapsed <= timedelta():
        return None
    seconds = elapsed.total_seconds() * (100 - min(progress.percent, 100.0)) / progress.percent
    return timedelta(seconds=seconds) if seconds <= _LONGEST_ETA.total_seconds() else None


def _counted(done: int, total: int, text: str = "") -> Progress:
    return Progress(percent=min(100.0 * done / total, 100.0), done=done, total=total, text=text)


def _percentage(line: str) -> float | None:
    for place in _places(line, "%"):
        start = _run_before(line, place, _DIGITS | {"."})
        if _stands_alone(line, start, place + 1):
            share = _decimal(line[start:place])
            if share is not None and share <= 100:
                return share
    return None


def _count(line: str) -> Progress | None:
    for place in _places(line, "/"):
        start = _run_before(line, place, _DIGITS)
        end = _run_after(line, place + 1, _DIGITS)
        if not _stands_alone(line, start, end) or _is_clock(line[end : end + 6]):
            continue
        done, total = line[start:place], line[place + 1 : end]
        if _is_count(done) and _is_count(total) and int(total) > 1 and int(done) <= int(total):
            return _counted(int(done), int(total))
    return None


def _places(line: str, sign: str) -> list[int]:
    return [place for place, letter in enumerate(line) if letter == sign]


def _run_before(line: str, place: int, letters: frozenset[str]) -> int:
    while place > 0 and line[place - 1] in letters:
        place -= 1
    return place


def _run_after(line: str, place: int, letters: frozenset[str]) -> int:
    while place < len(line) and line[place] in letters:
        place += 1
    return place


def _stands_alone(line: str, start: int, end: int) -> bool:
    before = start == 0 or line[start - 1] in _BEFORE
    after = end == len(line) or line[end] in _AFTER or line[end:] in (".", "...")
    return before and after


def _is_clock(text: str) -> bool:
    """Return whether a time of day follows, which makes the text before it a date."""
    return len(text) == 6 and text[0] == " " and text[3] == ":" and (text[1:3] + text[4:]).isdecimal()


def _is_count(text: str) -> bool:
    return 0 < len(text) <= 15 and _DIGITS.issuperset(text)


def _decimal(text: str) -> float | None:
    whole, _, fraction = text.partition(".")
    good = _is_count(whole) and (_is_count(fraction) or "." not in text)
    return float(text) if good else None
