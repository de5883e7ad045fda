"""Masking: credentials never reach a screen, a notice or an agent.

A credential is the value of a variable with a telling name, plain, quoted or encoded, and every shape in
`secrets`. Masking errs on the side of hiding; only the owner can read the raw log.
"""

from __future__ import annotations

import binascii
import re

from errands.model.text.sanitise import visible
from errands.model.text.secrets import LABELLED, SHAPES, WORDS, is_credential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Span = tuple[int, int, str]

_LONGEST_LEAD = 256
_BLOCK = 32_768
_LONGEST_WORD = 65_536
_OVERLAP = 8192

_PROMPT = re.compile(r"[^\s\d/]{0,40}[?:>)\]}!]|[(\[][a-zA-Z]{1,3}/[a-zA-Z]{1,3}[)\]][?:]?", re.ASCII)
_BLANKS = " \t\n\r\f\v"
_BLANK = re.compile(r"\s", re.ASCII)
_COLOUR_END = re.compile(r"[\d\[;]m", re.ASCII)
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_TEXT = re.compile(
    r"[A-Za-z0-9+/=]{16,}|^[ \t]*[A-Za-z0-9+/=]{1,15}[ \t]*$|(?<=\\n)[A-Za-z0-9+/=]+", re.M
)
_KEY_HEADERS = ("Proc-Type:", "DEK-Info:", "Version:", "Comment:")


class Mask:
    """The secrets of one environment, and all well-known shapes."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.values = dict(_values(environment))

    def add(self, environment: Mapping[str, str]) -> None:
        """Hide the secrets of another environment as well."""
        self.values.update(_values(environment))

    def text(self, text: str, *, before: str = "", after: str = "") -> str:
        """Mask a text; the text around it, which is left out, completes secrets that its edges cut."""
        if after and not self._has_lines(after):
            after = after.partition("\n")[0]
        stream = self.stream(before=before, longest=len(text))
        return stream.feed(text + after) + stream.close()

    def output(self, content: bytes, *, before: bytes, after: bytes, colour: bool = False) -> str:
        """Mask a piece of output and make it safe to show, given the bytes around it."""
        text = visible(content, colour=colour)
        return self.text(text, before=visible(before), after=visible(after))

    def stream(self, *, before: str = "", longest: int | None = None) -> Stream:
        """Return a masker for text that arrives in pieces; `before` precedes it, and is left out.

        Only the first `longest` characters are returned; the rest only helps to recognise secrets.
        """
        if before and not self._has_lines(before):
            before = before.rpartition("\n")[2]
        end = None if longest is None else len(before) + longest
        stream = Stream(self.values, window=(len(before), end))
        stream.feed(before)
        return stream

    def _has_lines(self, text: str) -> bool:
        """Return whether a secret may span several lines; looking for those takes longer."""
        return "-----BEGIN" in text or any("\n" in value for value in self.values)


class Stream:
    """Mask text piece by piece, wherever the pieces are split.

    Only the last word is held back, because no shape contains a blank; more if it may be the beginning of a
    value with blanks.
    """

    def __init__(self, values: Mapping[str, str], window: tuple[int, int | None] = (0, None)) -> None:
        """Return what is inside the window, and take everything else only to recognise secrets."""
        self._values = values
        self._first, self._end = window
        self._place = 0  # how many characters were passed on
        self._with_blanks = [value for value in values if _BLANK.search(value)]
        self._held = ""
        self._before = ""  # the end of the current line that was already returned, unmasked
        self._in_key = False
        self._swallowing = False

    def feed(self, text: str) -> str:
        """Take the next piece and return all text that is safely masked by now."""
        masked = []
        for start in range(0, len(text), _BLOCK):
            self._held += text[start : start + _BLOCK]
            masked += [self._pass_on(self._cut()), self._shorten()]
        return "".join(masked)

    def pause(self) -> str:
        """Return a prompt that waits for an answer, unless it may be the beginning of a secret."""
        held = self._held
        if self._in_key or not _PROMPT.fullmatch(held):
            return ""
        ends = [held[start:] for start in range(len(held))]
        if any(value.startswith(end) for value in self._values for end in ends):
            return ""
        return self._pass_on(len(held))

    def close(self) -> str:
        """Return the rest."""
        return self._pass_on(len(self._held))

    def _cut(self) -> int:
        """Return the offset before which nothing can be part of an unfinished secret."""
        text = self._held
        # A private key is masked by whole lines.
        ends = "\n" if self._in_key or "-----BEGIN" in text else _BLANKS
        cut = _after_last(ends, text, len(text))
        moved = True
        while moved:
            moved = False
            for value in self._with_blanks:
                for start in range(max(0, cut - len(value) + 1), cut):
                    if text.startswith(value, start) or value.startswith(text[start:]):
                        cut, moved = _after_last(ends, text, start), True
                        break
        return cut

    def _shorten(self) -> str:
        """Release the beginning of a word that is too long to hold back."""
        if self._swallowing:
            self._place += len(self._held)
            self._held = ""
        if len(self._held) <= _LONGEST_WORD:
            return ""
        edge = len(self._held) - _OVERLAP
        offset = len(self._before)
        for start, end, kind in self._spans(self._before + self._held, offset):
            if start - offset < edge < end - offset:
                edge = start - offset
                if edge == 0:
                    label = self._shown(0, len(self._held), _label(kind))
                    self._place += len(self._held)
                    self._held, self._swallowing = "", True
                    return label
        return self._pass_on(edge)

    def _pass_on(self, cut: int) -> str:
        text, self._held = self._held[:cut], self._held[cut:]
        if self._swallowing:
            blank = _BLANK.search(text)
            self._swallowing = blank is None
            self._place += blank.start() if blank else len(text)
            text = text[blank.start() :] if blank else ""
        masked = []
        while text:
            if self._in_key:
                line, text = self._key_line(text)
                masked.append(line)
            else:
                begin = _BEGIN.search(text)
                end = begin.end() if begin else len(text)
                self._in_key = begin is not None
                masked.append(self._masked(text[:end]))
                text = text[end:]
        return "".join(masked)

    def _key_line(self, text: str) -> tuple[str, str]:
        """Mask the first line as part of a private key and return the rest; any other line ends the key."""
        line, newline, rest = text.partition("\n")
        end = _END.search(line)
        body = line[: end.start()] if end else line
        is_key = _KEY_TEXT.search(body) or not body.strip() or body.strip().startswith(_KEY_HEADERS)
        self._in_key = end is None and bool(is_key)
        if end is None and not is_key:
            return "", text
        if end is None:
            body += newline
        return self._masked(body, in_key=True), text[end.start() :] if end else rest

    def _masked(self, text: str, *, in_key: bool = False) -> str:
        whole = self._before + text
        offset = len(self._before)
        self._before = whole.rpartition("\n")[2][-_LONGEST_LEAD:]
        parts = []
        place = offset
        for start, end, kind in self._spans(whole, offset, in_key=in_key):
            parts.append(self._clipped(whole, place, start, offset))
            parts.append(self._shown(start - offset, end - offset, _label(kind)))
            place = end
        parts.append(self._clipped(whole, place, len(whole), offset))
        self._place += len(text)
        return "".join(parts)

    def _clipped(self, whole: str, start: int, end: int, offset: int) -> str:
        """Return the part of a text that is inside the window."""
        shift = offset - self._place
        last = end if self._end is None else min(end, self._end + shift)
        return whole[max(start, self._first + shift) : max(last, 0)]

    def _shown(self, start: int, end: int, label: str) -> str:
        """Return a label if some of what it stands for is inside the window."""
        is_after = self._end is not None and self._place + start >= self._end
        return "" if is_after or self._place + end <= self._first else label

    def _spans(self, text: str, offset: int, *, in_key: bool = False) -> list[Span]:
        """Return what must be masked from `offset` on, in order; overlapping spans are merged."""
        found = [*_found(text, offset, self._values)]
        if in_key:
            found += [(*match.span(), "private key") for match in _KEY_TEXT.finditer(text, offset)]
        merged: list[Span] = []
        for span in sorted(found, key=lambda span: (span[0], -span[1])):
            if merged and span[0] < merged[-1][1]:
                start, end, kind = merged[-1]
                merged[-1] = (start, max(end, span[1]), kind)
            else:
                merged.append(span)
        return merged


def _after_last(ends: str, text: str, place: int) -> int:
    return 1 + max(text.rfind(end, 0, place) for end in ends)


def _label(kind: str) -> str:
    return f"[masked: {kind}]"


def _found(text: str, offset: int, values: Mapping[str, str]) -> Iterator[Span]:
    for value, name in values.items():
        start = text.find(value, offset)
        while start >= 0:
            yield start, start + len(value), name
            start = text.find(value, start + len(value))
    for kind, anchor, pattern in SHAPES:
        if anchor in text:
            for match in re.compile(pattern, re.ASCII).finditer(text, offset):
                yield *match.span(), kind
    for kind, anchor, pattern in WORDS:
        word = re.compile(pattern, re.ASCII).search(text, offset) if anchor in text else None
        while word:
            begins = _begins_word(text, word.start())
            if begins:
                yield *word.span(), kind
            word = word.re.search(text, word.end() if begins else word.start() + 1)
    lowered = text.lower() if text.isascii() else "".join(c.lower() if c.isascii() else c for c in text)
    for kind, anchors, lead, pattern in LABELLED:
        if any(anchor in lowered for anchor in anchors):
            covered = offset
            secret = re.compile(pattern, re.ASCII)
            for before in re.compile(lead, re.ASCII).finditer(lowered):
                # A label inside a secret that is already found adds nothing.
                if before.end() >= covered and (found := secret.match(text, before.end())):
                    covered = found.end()
                    yield *found.span(), kind


def _begins_word(text: str, place: int) -> bool:
    """Return whether a word begins here: not after a letter or digit, unless that ends an escape."""
    before = text[max(0, place - 2) : place]
    return (
        not before[-1:].isalnum()
        or before in ("\\n", "\\r", "\\t")
        or _COLOUR_END.fullmatch(before) is not None
    )


def _values(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environment.items():
        if is_credential(name, value):
            for spelling in _spellings(value.strip()):
                yield spelling, name


def _spellings(value: str) -> Iterator[str]:
    """Yield every way a value may be printed."""
    yield value
    raw = value.encode("utf-8", "replace")
    yield binascii.b2a_base64(raw, newline=False).decode().rstrip("=")
    yield "".join(chr(b) if b < 128 and (chr(b).isalnum() or chr(b) in "-._~") else f"%{b:02X}" for b in raw)
    yield value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= 16)
