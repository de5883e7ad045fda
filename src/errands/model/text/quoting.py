"""Quoting: which quote of a shell line is open at some place.

It proves, it does not guess: where a shell follows rules that are hard to follow, the answer is that nobody
knows.
"""

from __future__ import annotations

_BEFORE_COMMENT = frozenset(" \t\n;&|()")


def open_quote(beginning: str) -> str | None:
    """Name the quote that is open at the end of a shell line's beginning: `'`, `"`, or none (empty).

    None in comments, here-documents, backquotes, arithmetic, and after expansions with quotes of their own.
    """
    quote = ""
    at = 0
    while at < len(beginning):
        letter = beginning[at]
        if quote == "'":
            quote = "" if letter == "'" else quote
        elif letter == "\\":
            at += 1
        elif letter == "`" or (letter == "$" and (at := _after_dollar(beginning, at, quote)) < 0):
            return None
        elif quote:
            quote = "" if letter == '"' else quote
        elif letter in "'\"":
            quote = letter
        elif beginning.startswith("<<<", at):
            at += 2
        elif beginning.startswith(("<<", "(("), at):
            return None
        elif letter == "#" and (at == 0 or beginning[at - 1] in _BEFORE_COMMENT):
            at = beginning.find("\n", at)
            if at < 0:
                return None
        at += 1
    return quote if at == len(beginning) else None


def _after_dollar(text: str, at: int, quote: str) -> int:
    """Give the place of the last letter of a simple expansion; -1 where it is not simple."""
    match text[at + 1 : at + 2]:
        case "{":
            end = text.find("}", at)
            return end if text[at + 2 : max(end, 0)].isidentifier() else -1
        case "(":
            return -1 if quote else at
        case "'" | '"':
            return at if quote else -1
        case "[" | "":
            return -1
        case _:
            return at
