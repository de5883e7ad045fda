"""The output of a task as data for a model: bounded, cleaned, inside a fence that it cannot forge.

Secrets are masked here where only parts of an output are shown; all other text arrives masked.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from errands.model.record import record
from errands.model.text.mask import Mask
from errands.model.text.sanitise import line
from errands.model.text.summary import counts_only
from errands.model.view import View
from errands.ports.output import CONTEXT, Piece
from errands.text import clip, fenced, shortened

_NEAR = 4096  # bytes within which a cut looks for a blank, so as not to cut a word


@record
class Shown:
    """A fenced text, or an empty one; `is_cut` if some of it was left out."""

    text: str
    is_cut: bool = False


def bounded(text: str, longest: int | None, *, rest: str, label: str, is_cut: bool = False) -> Shown:
    """Fence a text; shorten one that is too long to its beginning and its end."""
    if longest is not None and len(text) > longest:
        text, is_cut = shortened(text, longest, rest=rest), True
    if not text.strip():
        return Shown(text="", is_cut=is_cut)
    return Shown(text=fenced(text, label), is_cut=is_cut)


def middle_out(head: bytes, tail: Piece, longest: int, mask: Mask, *, rest: str) -> str:
    """Join the masked beginning and end of an output, with a note of how much is missing between them."""
    half = longest // 2
    first = _until_blank(head[:half])
    last = _from_blank(tail.content[-half:])
    missing = tail.next_offset - len(last) - len(first)
    if missing <= 0:
        return mask.output(head, before=b"", after=tail.after)
    before = tail.before + tail.content[: len(tail.content) - len(last)]
    beginning = mask.output(first, before=b"", after=head[len(first) :][:CONTEXT])
    end = mask.output(last, before=before[-CONTEXT:], after=tail.after)
    return f"{beginning}\n[... {missing:,} bytes are left out here; {rest} ...]\n{end}"


def page(content: bytes, longest: int) -> bytes:
    """Cut a page after a whole word or at least a whole character, as more may follow."""
    if len(content) >= longest:
        content = _until_blank(content)
    for count in (1, 2, 3):
        lead = content[-count] if len(content) >= count else 0
        if lead < 0x80:
            break
        if lead >= 0xC0:  # the first byte of a character, which says how many it has
            return content[:-count] if count < (2 if lead < 0xE0 else 3 if lead < 0xF0 else 4) else content
    return content


def paged(piece: Piece, longest: int, *, is_live: bool) -> tuple[bytes, int]:
    """Return a page of an output, and where the next one begins: always further on, if there is anything."""
    is_last = not is_live and len(piece.content) < longest
    # Half a character before missing bytes will never be complete.
    content = piece.content if is_last else page(piece.content, longest) or piece.content
    return content, piece.next_offset - (len(piece.content) - len(content))


def _until_blank(content: bytes) -> bytes:
    place = max(content.rfind(blank) for blank in (b"\n", b" ", b"\t"))
    return content[: place + 1] if place >= max(0, len(content) - _NEAR) else content


def _from_blank(content: bytes) -> bytes:
    places = [place for blank in (b"\n", b" ", b"\t") if 0 <= (place := content.find(blank)) < _NEAR]
    return content[min(places) + 1 :] if places else content


def summary(view: View) -> str:
    """Return the summary of a command if it has nothing but counts, because it is not fenced."""
    said = view.latest.summary or ""
    return said if counts_only(said) else ""


def elapsed(view: View, now: datetime) -> timedelta | None:
    """Return how long a task has been running, or ran; None before it has started."""
    run = view.latest
    if not view.is_live and run.elapsed is not None:
        return timedelta(seconds=run.elapsed)
    if run.started_at is None:
        return None
    # A lost run was not measured, but it is known when it was missed.
    end = now if view.is_live else run.completed_at or now
    return max(end - run.started_at, timedelta())


def error_text(view: View) -> str:
    """Return why a task failed; fence the words of an agent, which are data."""
    error = view.latest.error
    if not error or view.is_live:
        return ""
    if view.agent is None:
        return one_line(error, 1000)
    return bounded(one_line(error, 1000), None, rest="", label=f"error of {view.id}").text.rstrip("\n")


def one_line(text: str, longest: int = 200) -> str:
    """Make a name, a description or an error fit on one line of a reply."""
    return clip(line(text), longest)
