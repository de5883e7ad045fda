"""Likeness: whether two ideas are the same in other words.

It errs on the side of likeness: an idea that was turned down and comes again is worse than one that waits.
"""

from __future__ import annotations

SAME = 0.5  # the share of all their words that two ideas must have in common
WITHIN = 0.8  # the share of the shorter one's words
FEWEST = 3  # words of the shorter one, so that this says something

_ENDINGS = tuple("ments ment ations ation ions ion ings ing ers er ed es s e".split())
_STOP = frozenset(
    "a an and are as at be been but by can could for from had has have i if in into is it its just let me my "
    "now of on once or our please shall should so some task tasks that the their them then there they this "
    "to up us want was we were what when whether which while will with would you your".split()
)


def words_of(text: str) -> frozenset[str]:
    """Give the words that say something, without their endings."""
    letters = "".join(each if each.isalnum() else " " for each in text.casefold())
    return frozenset(_stem(word) for word in letters.split() if word not in _STOP)


def is_similar(one: str, other: str) -> bool:
    """Tell whether two texts say the same, as far as their words tell."""
    first, second = words_of(one), words_of(other)
    if not first or not second:
        return False
    common, shorter = len(first & second), min(len(first), len(second))
    if common / len(first | second) >= SAME:
        return True
    return shorter >= FEWEST and common / shorter >= WITHIN


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
