"""Mutants: other ways to write a line that must be asked about, and harmless lines that were spoiled.

All of them must be asked about. The same seed draws the same mutants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from tests.fuzz.lines import ADVISORIES, CORPUS, PASSED, UNSEEN, read
from tests.fuzz.operators.constructs import CONSTRUCTS
from tests.fuzz.operators.joins import JOINS, can_be_beside
from tests.fuzz.operators.signs import SIGNS
from tests.fuzz.operators.spelling import SPELLING
from tests.fuzz.operators.spoils import SPOILS
from tests.fuzz.operators.wrapping import WRAPPING
from tests.fuzz.words import simple

LONGEST_ORIGIN, LONGEST = 1500, 20_000
SPOILED, AS_WORDS = 0.2, 0.05  # of all mutants
# What a judge may be able to follow tells more about it than what it cannot, and is drawn more often.
FOLLOWED = frozenset(
    """requote blanks abbreviate path_of_program wrap wrap_deeply wrap_builtin find_exec xargs split_string
    shell construct assignment redirect after before between spoil_by_secret spoil_by_option spoil_by_flag
    spoil_by_pipe spoil_by_set spoil_by_number spoil_by_pattern spoil_by_whole_tree
    spoil_by_environment""".split()
)

Operator = Callable[[str, Random], str | None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A command that must be asked about: a line, or words that no shell reads."""

    command: str | tuple[str, ...]
    origin: str
    operators: tuple[str, ...]


class Mutants:
    """An endless supply."""

    def __init__(self, seed: int) -> None:
        lines = [*read(CORPUS), *read(UNSEEN), *read(PASSED), *read(ADVISORIES)]
        self._random = Random(seed)
        self._asked = [
            line
            for line in lines
            if not line.is_harmless and line.family != "size_limits" and len(line.command) <= LONGEST_ORIGIN
        ]
        self._harmless = [line for line in lines if line.is_harmless and can_be_beside(line.command)]
        changes = [*SPELLING, *SIGNS, *WRAPPING, *CONSTRUCTS, *map(self._beside, JOINS)]
        self._changes: list[Operator] = _weighed(changes)
        self._spoils: list[Operator] = _weighed(SPOILS)

    def __iter__(self) -> Iterator[Mutant]:
        while True:
            mutant = self._spoiled() if self._random.random() < SPOILED else self._changed()
            if mutant is not None:
                yield mutant

    def _changed(self) -> Mutant | None:
        origin = self._random.choice(self._asked)
        text, names = origin.command, []
        for change in self._random.choices(self._changes, k=self._random.choice((1, 1, 2, 2, 3, 4))):
            changed = change(text, self._random)
            if changed is not None and len(changed) <= LONGEST:
                text = changed
                names.append(change.__name__)
        if self._random.random() < AS_WORDS and (words := _words(text)):
            return Mutant(words, origin.id, (*names, "as_words"))
        return Mutant(text, origin.id, tuple(names)) if names else None

    def _spoiled(self) -> Mutant | None:
        origin = self._random.choice(self._harmless)
        spoil = self._random.choice(self._spoils)
        text = spoil(origin.command, self._random)
        return None if text is None else Mutant(text, origin.id, (spoil.__name__,))

    def _beside(self, join: Callable[[str, str, Random], str | None]) -> Operator:
        def joined(text: str, random: Random) -> str | None:
            return join(text, random.choice(self._harmless).command, random)

        joined.__name__ = join.__name__
        return joined


def _weighed(operators: Iterable[Operator]) -> list[Operator]:
    return [each for each in operators for _ in range(4 if each.__name__ in FOLLOWED else 1)]


def _words(text: str) -> tuple[str, ...]:
    """Return the words that a shell would start a program with; () if a shell does more than that."""
    command = simple(text)
    if command is None or not command.is_started:
        return ()
    words = tuple(word.value for word in command.words if word.value is not None)
    return words if len(words) == len(command.words) else ()
