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

CODEX = """#!/bin/sh
while [ "$1" != resume ]; do shift; done
text=$(cat)
for file in "$CODEX_HOME"/sessions/*/*/*/rollout-*-$2.jsonl; do
    echo '{"type": "event_msg", "payload": {"type": "task_complete", "last_agent_message": "well"}}' >>"$file"
done
echo '{"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "well"}}'
echo '{"type": "turn.completed", "usage": {}}'
"""


class Codex:
    """A stand-in for Codex that answers and keeps its files, as the real one does."""

    def __init__(self, folder: Path) -> None:
        program, self._home = folder / "codex", folder / "codex-home"
        program.write_text(CODEX)
        program.chmod(0o700)
        self.config = f'[agents.codex]\ncommand = ["{program}"]\nenv = {{ CODEX_HOME = "{self._home}" }}\n'

    def forget(self) -> None:
        """Delete its only session."""
        (kept,) = self._home.rglob("rollout-*.jsonl")
        kept.unlink()


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
