"""A project in which the offline agent may run `./deed NAME [SECONDS]`, which records that it ran."""

from __future__ import annotations

from pathlib import Path

from errands.testing.engines import TestEngine

DEED = """#!/bin/sh
echo "$1" >>witness
sleep "${2:-0}"
echo "did $1"
"""


# The smallest agent that remembers a conversation: what it is sent is its answer.
CAT = '[agents.cat]\nbackend = "command"\ncommand = "cat"\n'


async def unhurried(engine: TestEngine) -> float:
    """Return a time limit, in seconds, that an agent does not reach on this machine just by starting."""
    ended = await engine.answered("`true`")
    assert ended.latest.elapsed is not None
    return max(2.0, 4 * ended.latest.elapsed)


class Project:
    def __init__(self, folder: Path, config: Path) -> None:
        folder.mkdir()
        self.path = str(folder)
        self.witness = folder / "witness"
        (folder / "deed").write_text(DEED)
        (folder / "deed").chmod(0o700)
        self.config = config / "errands" / "config.toml"
        self.config.parent.mkdir(parents=True)
        self.configure("")

    def configure(self, more: str) -> None:
        """Write the user's configuration: deeds are allowed, `cat` is an agent, plus the given text."""
        self.config.write_text(f'[approval]\nallow = ["./deed *"]\n{more}\n{CAT}')

    def deeds(self) -> list[str]:
        """Return the names of the deeds that were done, in order."""
        return self.witness.read_text().split() if self.witness.exists() else []
