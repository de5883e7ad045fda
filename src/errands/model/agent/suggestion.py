"""A suggestion: work that an agent proposes, one JSON object per line of its answer.

Lines that look like a suggestion but cannot be parsed are reported.
"""

from __future__ import annotations

import json

from errands.model.errors import BadValue
from errands.model.record import record
from errands.model.text.duration import parse_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta
    from typing import Any

LONGEST = 4000  # characters of a command or prompt
_TEXTS = ("name", "reason", "command", "prompt", "every")

FORMAT = """\
Answer with the one word NOTHING, or with at most {most} lines, each of them one JSON object:
{{"name": "watch-ci", "reason": "why this is useful, for the person", "command": "a shell command"}}
With "prompt" instead of "command" an agent does it. "every": "30m" repeats it, and \
"max_runs": 10 limits how often."""


@record
class Suggestion:
    name: str
    reason: str
    command: str | None = None
    prompt: str | None = None
    every: timedelta | None = None
    max_runs: int | None = None

    @property
    def work(self) -> str:
        return self.command or self.prompt or ""

    def is_like(self, known: str) -> bool:
        """Compare it with a present or past task: its name, description and command, one per line."""
        name, _, rest = known.partition("\n")
        description, _, work = rest.partition("\n")
        if " ".join(self.work.split()) == " ".join(work.split()):
            return True
        return is_similar(f"{self.name} {self.reason}", f"{name} {description}") or (
            self.command is None and is_similar(self.work, work)
        )


def suggestions_in(answer: str) -> Iterator[Suggestion | str]:
    """Yield the suggestions in an answer, or what is wrong for a line that looks like one."""
    for line in answer.splitlines():
        text = line.strip().strip("`").lstrip("-*0123456789. ").rstrip(",")
        if not text.startswith("{"):
            continue
        try:
            found = json.loads(text)
            yield _suggestion(found)
        except (ValueError, BadValue) as error:
            yield f"{text[:80]}: {error}"


def _suggestion(found: Any) -> Suggestion:
    for key in _TEXTS:
        if key in found and not isinstance(found[key], str):
            raise BadValue(f"{key} is not text")
    work = [found.get("command"), found.get("prompt")]
    if sum(1 for each in work if each and each.strip()) != 1:
        raise BadValue("a suggestion has either a command or a prompt")
    if len(work[0] or work[1]) > LONGEST:
        raise BadValue(f"it is longer than {LONGEST:,} characters")
    times = found.get("max_runs")
    every = parse_duration(found["every"]) if found.get("every") else None
    if times is not None and (not isinstance(times, int) or isinstance(times, bool) or every is None):
        raise BadValue("max_runs must be a number, and needs every")
    return Suggestion(
        name=(found.get("name") or "idea")[:60],
        reason=(found.get("reason") or found.get("name") or "no reason given")[:300],
        command=work[0],
        prompt=None if work[0] else work[1],
        every=every,
        max_runs=times,
    )


# Similarity: whether two suggestions are the same in other words. It errs on the side of yes: a rejected
# suggestion that comes again is worse than one that waits.

SAME = 0.5  # the share of all their words that two texts have in common
WITHIN = 0.8  # or the share of the shorter one's words
FEWEST = 3  # words in the shorter one, for that share to mean something

_ENDINGS = tuple("ments ment ations ation ions ion ings ing ers er ed es s e".split())
_STOP = frozenset(
    "a an and are as at be been but by can could for from had has have i if in into is it its just let me my "
    "now of on once or our please shall should so some task tasks that the their them then there they this "
    "to up us want was we were what when whether which while will with would you your".split()
)


def words_of(text: str) -> frozenset[str]:
    """Return the meaningful words of a text, without their endings."""
    letters = "".join(each if each.isalnum() else " " for each in text.casefold())
    return frozenset(_stem(word) for word in letters.split() if word not in _STOP)


def is_similar(one: str, other: str) -> bool:
    """Return whether two texts say the same thing, judging by their words."""
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
