"""The witness: the file in which tasks record what they do, in the order in which they did it.

All append to one file, so its order is the order of events; the engine never touches it. Clients add when
they requested a task and when they knew that it exists.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Witness:
    """`starts` are in order; `ends` has the results that tasks announced as their last act.

    `shims` names the points at which shims killed themselves, by run; `inputs` what should have been nothing.
    `asked` and `known` are places in the file, by token; `lines` are words and runs, one for every place.
    """

    starts: list[str] = field(default_factory=list)
    ends: dict[str, list[int]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    shims: dict[str, str] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    lines: list[tuple[str, str]] = field(default_factory=list)


def read(path: str) -> Witness:
    witness = Witness()
    with open(path) as file:
        for number, line in enumerate(file):
            word, run_id, token, rest = line.rstrip("\n").split(" ", 3)
            witness.lines.append((word, run_id))
            match word:
                case "asked":
                    witness.asked.setdefault(token, number)
                    continue
                case "known":
                    witness.known.setdefault(token, number)
                    continue
                case "start":
                    witness.starts.append(run_id)
                case "end":
                    witness.ends.setdefault(run_id, []).append(int(rest))
                case "shim":
                    witness.shims[run_id] = rest
                case "input":
                    witness.inputs.append(run_id)
            witness.tokens[run_id] = token
    return witness


def say(path: str, word: str, tokens: Iterable[str]) -> None:
    """Add what a client knows about launches: that it has `asked`, or that they are `known`."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(file, "".join(f"{word} - {token} -\n" for token in tokens).encode())
    finally:
        os.close(file)


def have_started(path: str, tokens: Iterable[str]) -> bool:
    """Return whether these tasks have started and done their first steps."""
    witness = read(path)
    begun = {witness.tokens[run_id] for word, run_id in witness.lines if word == "begun"}
    return begun.issuperset(tokens)
