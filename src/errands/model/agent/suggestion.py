"""An idea: work that an agent proposes, as it writes it down.

An agent answers with one JSON object per line; what is no idea is left out, and said.
"""

from __future__ import annotations

import json

from errands.model.agent.similarity import is_similar
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
With "prompt" in place of "command" an agent does it. "every": "30m" has it done again and again, and \
"max_runs": 10 so often at most."""


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
        """Compare it with a task that is there, or was: its name, description and command, a line each."""
        name, _, rest = known.partition("\n")
        description, _, work = rest.partition("\n")
        if " ".join(self.work.split()) == " ".join(work.split()):
            return True
        return is_similar(f"{self.name} {self.reason}", f"{name} {description}") or (
            self.command is None and is_similar(self.work, work)
        )


def suggestions_in(answer: str) -> Iterator[Suggestion | str]:
    """Read the ideas of an answer; of a line that was meant to be one and is none, say what is wrong."""
    for line in answer.splitlines():
        text = line.strip().strip("`").lstrip("-*0123456789. ").rstrip(",")
        if not text.startswith("{"):
            continue
        try:
            found = json.loads(text)
            yield _idea(found)
        except (ValueError, BadValue) as error:
            yield f"{text[:80]}: {error}"


def _idea(found: Any) -> Suggestion:
    for key in _TEXTS:
        if key in found and not isinstance(found[key], str):
            raise BadValue(f"{key} is no text")
    work = [found.get("command"), found.get("prompt")]
    if sum(1 for each in work if each and each.strip()) != 1:
        raise BadValue("an idea has either a command or a prompt")
    if len(work[0] or work[1]) > LONGEST:
        raise BadValue(f"it is longer than {LONGEST:,} characters")
    times = found.get("max_runs")
    every = parse_duration(found["every"]) if found.get("every") else None
    if times is not None and (not isinstance(times, int) or isinstance(times, bool) or every is None):
        raise BadValue("max_runs is a number, and goes with every")
    return Suggestion(
        name=(found.get("name") or "idea")[:60],
        reason=(found.get("reason") or found.get("name") or "no reason given")[:300],
        command=work[0],
        prompt=None if work[0] else work[1],
        every=every,
        max_runs=times,
    )
