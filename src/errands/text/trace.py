"""A trace in text: spans as a tree, each with a bar over time."""

from __future__ import annotations

from datetime import datetime, timedelta

from errands.model.span import Span
from errands.model.text.duration import spoken
from errands.model.text.sanitise import line
from errands.text import Look, clip, pad, width, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from errands.text import Colour

_BAR = 30
_WIDE = 100  # with this many columns there is room for the ids of spans
_TOOK = 11  # columns of a duration with its gaps
_SPAN = 21  # columns of an id with its gap and a mark
_LEAST = timedelta(milliseconds=1)


def draw_tree(spans: Sequence[Span], look: Look, *, at: datetime, marked: str = "") -> Iterator[str]:
    """Draw spans as a tree; those without a parent among them are its roots."""
    if not spans:
        return
    begin = min(each.started_at for each in spans)
    end = max(each.ended_at or at for each in spans)
    rows = list(_rows(spans, look))
    # In a narrow terminal the ids of the spans are left out, then the bars get shorter.
    has_ids = look.columns >= _WIDE
    cells = _BAR if look.columns >= 2 * _BAR + _TOOK else look.columns // 4
    room = look.columns - cells - _TOOK - (_SPAN if has_ids else 0)
    label = min(max(width(text) for text, _ in rows), room)
    for text, span in rows:
        bar = _bar(span, begin, max(end - begin, _LEAST), at, look, cells)
        took = "runs" if span.ended_at is None else spoken(span.ended_at - span.started_at)
        colour: Colour = "yellow" if span.ended_at is None else "red" if span.error else "green"
        sign = " <-" if marked and span.place.span_id.startswith(marked) else ""
        name = pad(clip(text, label), label)
        tail = f"  {span.place.span_id}{sign}" if has_ids else sign
        drawn = f"{name}  {look.paint(bar, colour)} {pad(took, 8, right=True)}{tail}".rstrip()
        why = f"  {line(span.error)}" if span.error else ""
        if width(drawn) + width(why) <= look.columns:
            yield drawn + why
        else:
            yield drawn
            yield from wrap(f"    {line(span.error or '')}", look.columns)


def _rows(spans: Sequence[Span], look: Look) -> Iterator[tuple[str, Span]]:
    known = {each.place.span_id for each in spans}
    below: dict[str | None, list[Span]] = {}
    for each in sorted(spans, key=lambda span: span.started_at):
        below.setdefault(each.parent_id if each.parent_id in known else None, []).append(each)
    branch, last, through = ("├─ ", "└─ ", "│  ") if look.unicode else ("|- ", "`- ", "|  ")

    def walk(parent: str, indent: str) -> Iterator[tuple[str, Span]]:
        children = below.get(parent, [])
        for place, child in enumerate(children, start=1):
            is_last = place == len(children)
            yield f"{indent}{last if is_last else branch}{_title(child)}", child
            yield from walk(child.place.span_id, indent + ("   " if is_last else through))

    for root in below.get(None, []):
        yield _title(root), root
        yield from walk(root.place.span_id, "")


def _title(span: Span) -> str:
    if span.name == "background_task_start":
        return f"{span.name} {line(str(span.attributes['task.id']))}.{span.attributes['task.run']}"
    return line(span.name)


def _bar(span: Span, begin: datetime, whole: timedelta, at: datetime, look: Look, cells: int) -> str:
    first = int((span.started_at - begin) / whole * cells)
    last = int(((span.ended_at or at) - begin) / whole * cells)
    first = min(max(first, 0), cells - 1)
    long = max(1, min(last, cells) - first)
    full, empty = ("█", "·") if look.unicode else ("#", ".")
    return empty * first + full * long + empty * (cells - first - long)
