"""The history: what each client requested and was answered, written by the client itself, line by line.

A request without an answer may or may not have taken effect; an answer is a promise.
"""

from __future__ import annotations

import glob
import json
import os
from dataclasses import dataclass, field
from typing import Any


class History:
    """One client's history; a client that was killed continues where it stopped."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, word: str, number: int, **facts: Any) -> None:
        """Write one line: `ask`, `answer` or `refusal` of the act with this number in the plan."""
        os.write(self._file, json.dumps({"word": word, "act": number, **facts}).encode() + b"\n")


@dataclass
class Answers:
    """The answers to all clients together."""

    asked: set[int] = field(default_factory=set)
    answered: set[int] = field(default_factory=set)
    refused: int = 0
    ids: dict[str, set[str]] = field(default_factory=dict)
    answers: dict[int, Any] = field(default_factory=dict)


def read(base: str) -> Answers:
    """Read the histories of all clients."""
    answers = Answers()
    for path in glob.glob(f"{base}/history.*"):
        with open(path, "rb") as file:
            for entry in file:
                if not entry.endswith(b"\n"):
                    continue  # the client was killed in the middle of its line
                line = json.loads(entry)
                match line["word"]:
                    case "ask":
                        answers.asked.add(line["act"])
                    case "answer":
                        answers.answered.add(line["act"])
                        answers.answers[line["act"]] = line.get("ids", {})
                        for token, task_id in line.get("ids", {}).items():
                            answers.ids.setdefault(token, set()).add(task_id)
                    case "refusal":
                        answers.refused += 1
    return answers
