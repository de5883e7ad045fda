"""Lines with the verdict they deserve, read from the files next to this one.

All of them assume a clean repository, its root as project and current directory.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus.jsonl")
UNSEEN = Path(__file__).with_name("unseen.jsonl")
PASSED = Path(__file__).with_name("passed.jsonl")
ADVISORIES = Path(__file__).with_name("advisories.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    id: str
    family: str
    command: str
    verdict: str
    why: str

    @property
    def is_harmless(self) -> bool:
        return self.verdict == "auto"


def read(place: Path) -> list[Line]:
    """Read the lines of a file, in its order."""
    return [
        Line(**{name: each[name] for name in ("id", "family", "command", "verdict", "why")})
        for each in map(json.loads, place.read_text().splitlines())
    ]
