"""Payload: text that a line only carries, such as what it searches for and what it writes into a file.

In a line that is not followed, words such as `curl` mean something else there. This only keeps questions
rare: whatever is overlooked starts behind walls.
"""

from __future__ import annotations

from errands.model.text.regex import regex

# The pattern of a search, behind options whose value is not a file, a choice of files or a program.
_SEARCH = regex(
    r"""(?x)((?:^|[\s;&|(`])(?:[ef]?grep|rg|ag|ack|git\s+grep)
    (?:\s+(?:-[A-NP-Za-eh-z.]+|--(?!pre|open|file|i?glob|host|ignore-file)[a-z-]+(?:=\S+)?))*\s+)
    (?:'[^']*'|"[^"$`\\]*"|[\w.]+)"""
)
_SEARCHING = frozenset("grep egrep fgrep rg ag ack".split())
_OTHERWISE = regex(r"-[A-Za-z.]*[Ofg]|--(?:pre|open|file|i?glob|host|ignore-file)")
# A here-document that `cat` or `tee` prints or writes, alone on its line.
_DOCUMENT = regex(
    r"""(?x)(?:^|\n|&&|\|\||;)[ \t]*(?:cat|tee)\b[^\n|;&`$()<]*<<-?[ \t]*
    (?:'(?P<single>\w+)'|"(?P<double>\w+)"|\\?(?P<plain>\w+))[^\n|;&`$()<]*\n"""
)
# Commands that run nothing of what was written; with any other, the text counts.
_EXPANDED = regex(r"[`$]")
_BESIDE = regex(
    r"(?:[\s;&|]*(?:cat|tee|mkdir|ls|echo|wc|head|tail|touch|chmod|grep|true)\b[^\n;&|`$()]*)*[\s;&|]*"
)


def without_payload(source: str) -> str:
    """Return a line without the documents that it writes and the patterns that it searches for."""
    rest, left, at = "", "", 0
    while found := _DOCUMENT.search(source, at):
        word = found["single"] or found["double"] or found["plain"]
        end = regex(rf"(?m)^\t*{word}$").search(source, found.end())
        if end is None:
            break
        body = source[found.end() : end.start()]
        expands = found["plain"] and not found[0].rpartition("<<")[2].lstrip("- \t").startswith("\\")
        rest += source[at : found.end()] + ("" if not (expands and _EXPANDED.search(body)) else body)
        left += source[at : found.start()] + found[0].partition("<<")[0] + "\n"
        at = end.end()
    rest, left = rest + source[at:], left + source[at:]
    if at == 0 or not _BESIDE.fullmatch(left):
        rest = source
    return _SEARCH.sub(r"\1", rest)


def without_pattern(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command without the pattern that it searches for."""
    first = 2 if words[:2] == ("git", "grep") else 1 if words[0] in _SEARCHING else 0
    for at in range(first, len(words)) if first else ():
        if _OTHERWISE.match(words[at]):
            break
        if not words[at].startswith("-"):
            return words[:at] + words[at + 1 :]
    return words
