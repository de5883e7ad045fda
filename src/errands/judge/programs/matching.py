"""Matching: whether an expression of Python finds something, in a moment, whatever loops it has.

Python's own search tries one way after the other to divide a text among loops, which may take years. This
follows all ways at once. It keeps the set of places that are reached, as the bits of a number: bit 5 is the
place before the sixth letter. A letter moves the places in front of it by one; a loop ends when it reaches
no new place. All texts lie behind each other, with a gap that nothing matches.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_parser: Any = import_module("re._parser")
_MOST_STEPS = 2_000
_MOST_KNOWN = 1_000
_GAP = "\0"


class TooLongError(Exception):
    """It takes too many steps."""


class _Texts:
    """Texts behind each other, and the places at which something is."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.text = _GAP.join(texts) + _GAP
        self.longest = max(map(len, texts), default=0)
        self.everywhere = (1 << len(self.text)) - 1
        self.known: dict[str, int] = {}  # the places in front of letters that fit an expression
        self._of_letter: dict[str, int] = {}
        for place, letter in enumerate(self.text):
            self._of_letter[letter] = self._of_letter.get(letter, 0) | 1 << place
        ends, lines = self._of_letter[_GAP], self._of_letter.get("\n", 0)
        begins = ((ends << 1) | 1) & self.everywhere
        words = self.where(_is_word)
        bounds = (words ^ (words << 1)) & self.everywhere
        self.at = {
            "AT_BEGINNING": begins | lines << 1,
            "AT_BEGINNING_STRING": begins,
            "AT_END": ends | lines,
            "AT_END_STRING": ends,
            "AT_BOUNDARY": bounds,
            "AT_NON_BOUNDARY": self.everywhere & ~bounds,
        }

    def where(self, fits: Callable[[str], bool]) -> int:
        """Return the places in front of letters that fit."""
        found = 0
        for letter, places in self._of_letter.items():
            if letter != _GAP and fits(letter):
                found |= places
        return found


_texts = lru_cache(maxsize=256)(_Texts)


@lru_cache(maxsize=256)
def _parsed(expression: str, flags: int) -> tuple[Any, int]:
    tree = _parser.parse(expression, flags)
    return tree, tree.state.flags


def finds(expression: str, flags: int, texts: Sequence[str]) -> bool:
    """Return whether an expression may match a part of one of the texts; raise `re.error` if it is none."""
    tree, flags = _parsed(expression, flags)
    search = _Search(_texts(tuple(texts)))
    return search.run(tree, search.texts.everywhere, flags) != 0


class _Search:
    """One search. Backwards, it goes from where something ends to where it may begin."""

    def __init__(self, texts: _Texts) -> None:
        self.texts = texts
        self.steps = 0
        self.is_exact = True

    def run(self, tree: Any, places: int, flags: int, *, back: bool = False) -> int:
        for kind, value in reversed(tree) if back else tree:
            if not places:
                break
            places = self._follow(str(kind), value, places, flags, back=back)
        return places

    def _follow(self, kind: str, value: Any, places: int, flags: int, *, back: bool) -> int:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise TooLongError
        match kind:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                fitting = self._fitting(kind, value, flags)
                return (places >> 1) & fitting if back else (places & fitting) << 1
            case "AT":
                return places & self.texts.at[str(value)]
            case "BRANCH":
                found = 0
                for each in value[1]:
                    found |= self.run(each, places, flags, back=back)
                return found
            case "SUBPATTERN":
                _, added, removed, tree = value
                return self.run(tree, places, (flags | added) & ~removed, back=back)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                self.is_exact &= kind != "POSSESSIVE_REPEAT"
                least, most, tree = value
                return self._repeat(least, most, tree, places, flags, back=back)
            case "ATOMIC_GROUP":
                self.is_exact = False
                return self.run(value, places, flags, back=back)
            case "ASSERT" | "ASSERT_NOT":
                direction, tree = value
                return self._look(kind, direction, tree, places, flags)
        # What was matched before may be anything.
        self.is_exact = False
        return self._repeat(0, self.texts.longest, [("ANY", None)], places, flags, back=back)

    def _repeat(self, least: int, most: Any, tree: Any, places: int, flags: int, *, back: bool) -> int:
        # In more rounds than there are letters some match nothing, and could be left out.
        rounds = self.texts.longest + 1
        for _ in range(min(int(least), rounds)):
            before, places = places, self.run(tree, places, flags, back=back)
            if places == before:
                break
        new, reached = places, places
        for _ in range(min(int(most) - int(least), rounds)):
            new = self.run(tree, new, flags, back=back) & ~reached
            if not new:
                break
            reached |= new
        return reached

    def _look(self, kind: str, direction: int, tree: Any, places: int, flags: int) -> int:
        was_exact, self.is_exact = self.is_exact, True
        seen = self.run(tree, self.texts.everywhere, flags, back=direction > 0)
        if kind == "ASSERT_NOT":
            seen = ~seen if self.is_exact else places
        self.is_exact &= was_exact
        return places & seen

    def _fitting(self, kind: str, value: Any, flags: int) -> int:
        known, folds = self.texts.known, bool(flags & re.IGNORECASE)
        key = f"{kind} {value} {folds}"
        if key not in known:
            if len(known) > _MOST_KNOWN:
                known.clear()
            known[key] = self.texts.where(lambda letter: _fits(kind, value, letter, folds=folds))
        return known[key]


def _fits(kind: str, value: Any, letter: str, *, folds: bool) -> bool:
    """Return whether a letter is what one letter of an expression stands for; `folds` ignores case."""
    forms = {letter, *(_forms(letter) if folds else ())}
    match kind:
        case "LITERAL" | "NOT_LITERAL":
            wanted = chr(value)
            is_same = wanted in forms or (folds and not forms.isdisjoint(_forms(wanted)))
            return is_same == (kind == "LITERAL")
        case "IN":
            is_in = any(_is_among(str(sort), what, each) for sort, what in value for each in forms)
            return is_in != (str(value[0][0]) == "NEGATE")
    return True


def _forms(letter: str) -> str:
    lower = letter.lower()
    return lower + letter.upper() + _ALIKE.get(lower, "")


def _is_among(sort: str, what: Any, letter: str) -> bool:
    match sort:
        case "LITERAL":
            return ord(letter) == int(what)
        case "RANGE":
            return bool(what[0] <= ord(letter) <= what[1])
        case "CATEGORY":
            name = str(what).removeprefix("CATEGORY_")
            return _KINDS[name.removeprefix("NOT_")](letter) != name.startswith("NOT_")
    return False


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


_KINDS: dict[str, Callable[[str], bool]] = {"DIGIT": str.isdecimal, "SPACE": str.isspace, "WORD": _is_word}
# Letters that are equal to these where case is ignored: a long s, and the sign of Kelvin.
_ALIKE = {"s": "\u017f", "k": "\u212a"}
