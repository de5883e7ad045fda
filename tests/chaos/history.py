"""The history: what clients asked and what they were answered, written by themselves, line by line.

An ask without an answer may have had its effect or not; an answer is a promise.
"""

from __future__ import annotations

import glob
import json
import os
from dataclasses import dataclass, field
from typing import Any


class History:
    """One client's history; a client that was killed goes on where it stopped."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, word: str, number: int, **facts: Any) -> None:
        """Write one line: `ask`, `answer` or `refusal` of the act with this number in the plan."""
        os.write(self._file, json.dumps({"word": word, "act": number, **facts}).encode() + b"\n")


@dataclass
class Told:
    """What all clients together were told."""

    asked: set[int] = field(default_factory=set)
    answered: set[int] = field(default_factory=set)
    refused: int = 0
    ids: dict[str, set[str]] = field(default_factory=dict)
    answers: dict[int, Any] = field(default_factory=dict)


def read(base: str) -> Told:
    """Read the histories of all clients."""
    told = Told()
    for path in glob.glob(f"{base}/history.*"):
        with open(path, "rb") as file:
            for entry in file:
                if not entry.endswith(b"\n"):
                    continue  # the client was killed in the middle of its line
                line = json.loads(entry)
                match line["word"]:
                    case "ask":
                        told.asked.add(line["act"])
                    case "answer":
                        told.answered.add(line["act"])
                        told.answers[line["act"]] = line.get("ids", {})
                        for token, task_id in line.get("ids", {}).items():
                            told.ids.setdefault(token, set()).add(task_id)
                    case "refusal":
                        told.refused += 1
    return told
