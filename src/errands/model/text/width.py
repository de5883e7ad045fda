"""Widths: how many columns of a terminal a text takes, and how to clip, pad and wrap it to that many.

What is counted are cells, not characters: wide (East Asian) characters and emoji take two, marks that combine
with the character before them none, and colour sequences none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Our own drawing characters take one column each; without this every table would import `unicodedata`.
NARROW = frozenset("".join(map(chr, range(32, 127))) + "●○◐✓✗⊘»‖·…█░─│┆╭╮╰╯└•▌")
# A word that is wider than a whole line, such as a path, may be broken after one of these.
JOINTS, MINOR_JOINTS = "/|,;=&?", ":-_."
REMARK = 24  # columns of a remark in brackets that stays together

_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAGS = range(0x1F1E6, 0x1F200)  # two of these letters make one flag
_VOWELS = range(0x1160, 0x1200)  # Korean vowels and final consonants, drawn into the syllable before them


def width(text: str) -> int:
    """Return the columns of a text."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    text = uncoloured(text)
    if NARROW.issuperset(text):
        return len(text)
    return sum(columns for _, columns in clusters(text))


def uncoloured(text: str) -> str:
    """Return a text without its colour sequences."""
    if "\x1b" not in text:
        return text
    first, *rest = text.split("\x1b[")
    return first + "".join(each.partition("m")[2] for each in rest)


def clusters(text: str) -> Iterator[tuple[str, int]]:
    """Split a text into what is drawn as one, with its width: a letter with its marks, an emoji, a flag."""
    from unicodedata import category, east_asian_width

    cluster, columns, joined, flag = "", 0, False, False
    for character in text:
        number = ord(character)
        if character == _EMOJI_STYLE and cluster:
            # It turns a text symbol into an emoji, which is wide.
            cluster, columns = cluster + character, max(columns, 2)
        elif cluster and joined and category(character) == "So":
            cluster, joined = cluster + character, False
        elif cluster and number in _SKIN_TONES and columns == 2:
            cluster += character
        elif cluster and flag and number in _FLAGS:
            cluster, columns, flag = cluster + character, 2, False
        elif (category(character) in ("Mn", "Me", "Cf") and number != 0xAD) or number in _VOWELS:
            cluster, joined = cluster + character, character == _JOINER
        else:
            if cluster:
                yield cluster, columns
            cluster, joined, flag = character, False, number in _FLAGS
            columns = 2 if east_asian_width(character) in "WF" else 1
    if cluster:
        yield cluster, columns


def clip(text: str, columns: int, *, mark: str = "…") -> str:
    """Shorten a text to that many columns; the mark shows that something is missing."""
    if width(text) <= columns:
        return text
    room = max(columns - width(mark), 0)
    if text.isascii():
        return text[:room] + mark[:columns]
    kept, used = [], 0
    for cluster, wide in clusters(text):
        used += wide
        if used > room:
            break
        kept.append(cluster)
    return "".join(kept) + mark[:columns]


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Fill a text with blanks up to that many columns."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def wrap(text: str, columns: int, *, hang: int = 0) -> list[str]:
    """Break a text between words into lines of at most that many columns.

    A line that continues another is indented like it, and by `hang` more. A short remark in brackets stays
    together, and no line begins with the dot between facts. Only a word wider than a whole line is broken,
    after a slash or another joint; without one it stays whole.
    """
    return [line for paragraph in text.split("\n") for line in _wrapped(paragraph, columns, hang)]


def fitting(lines: Iterable[str], columns: int) -> list[str]:
    """Wrap lines that are wider than that many columns; a remark after two blanks gets a line of its own."""
    fitted: list[str] = []
    for line in lines:
        if len(line) <= columns and line.isascii():
            fitted.append(line)
            continue
        said, remark, rest = line.rpartition("  (")
        if remark and width(line) > columns and "\n" not in line:
            fitted += [*wrap(said, columns), *wrap(remark + rest, columns)]
        else:
            fitted += wrap(line, columns)
    return fitted


def _wrapped(paragraph: str, columns: int, hang: int) -> Iterator[str]:
    if width(paragraph) <= columns:
        yield paragraph
        return
    words = paragraph.lstrip(" ")
    lead = " " * (len(paragraph) - len(words))
    if words.startswith(("• ", "- ")):
        hang += 2
    line, gap, is_empty = lead, 0, True
    for word in _units(words.split(" "), columns - len(lead) - hang):
        if not word:
            gap += 1
            continue
        room = columns - len(lead) - hang
        for piece in [word] if width(word) <= room else _parts(word, room):
            if not is_empty and width(line) + gap + width(piece) > columns:
                yield line
                line, gap, is_empty = lead + " " * hang, 0, True
            line += " " * gap * (not is_empty) + piece
            gap, is_empty = 0, False
        gap = 1
    if not is_empty:
        yield line


def _units(words: list[str], room: int) -> Iterator[str]:
    """Join the words that stay together where a line has room for them."""
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if word.startswith("(") and ")" not in word:
            near = words[at : at + REMARK]  # each needs a column at least
            end = next((n for n, each in enumerate(near, 1) if ")" in each), 0)
            remark = " ".join([word, *near[:end]])
            if end and "" not in near[:end] and width(remark) <= min(REMARK, room):
                word, at = remark, at + end
        if words[at : at + 1] == ["·"] and word and width(word) + 2 <= room:
            word, at = f"{word} ·", at + 1
        yield word


def _parts(word: str, room: int) -> Iterator[str]:
    """Break a word that is wider than a line: a path at its slashes, what is still too wide elsewhere."""
    for part in _pieces(word, room, JOINTS):
        yield from [part] if width(part) <= room else _pieces(part, room, MINOR_JOINTS)


def _pieces(word: str, room: int, joints: str) -> Iterator[str]:
    """Break a word after its joints, as few times as possible."""
    line, piece = "", ""
    for cluster, _ in clusters(word):
        piece += cluster
        if cluster in joints:
            if line and width(line) + width(piece) > room:
                yield line
                line = ""
            line, piece = line + piece, ""
    if line and width(line) + width(piece) > room:
        yield line
        line = ""
    yield line + piece
