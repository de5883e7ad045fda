"""The witness: what the tasks say about themselves, in the order in which they said it.

They append to one file, so its order is the order of events; the engine never touches it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Witness:
    """`starts` are in order; `ends` has the results that tasks announced as their last act.

    `shims` names the points at which shims killed themselves, by run; `inputs` what should have been nothing.
    """

    starts: list[str] = field(default_factory=list)
    ends: dict[str, list[int]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    shims: dict[str, str] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)


def read(path: str) -> Witness:
    witness = Witness()
    with open(path) as file:
        for line in file:
            word, run_id, token, rest = line.rstrip("\n").split(" ", 3)
            witness.tokens[run_id] = token
            witness.lines.append((word, run_id))
            match word:
                case "start":
                    witness.starts.append(run_id)
                case "end":
                    witness.ends.setdefault(run_id, []).append(int(rest))
                case "shim":
                    witness.shims[run_id] = rest
                case "input":
                    witness.inputs.append(run_id)
    return witness


def have_started(path: str, tokens: Iterable[str]) -> bool:
    """Tell whether these tasks have started and done what comes first."""
    witness = read(path)
    begun = {witness.tokens[run_id] for word, run_id in witness.lines if word == "begun"}
    return begun.issuperset(tokens)
