"""What the tests of programs as agents share: where an agent works, and the contract with a fake model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from errands.model.record import evolve
from errands.testing.agent_context import SPEC, RecordingContext
from errands.testing.contracts.agent import AgentContract
from tests.model_server import ModelServer


class ProgramContract(AgentContract):
    recall = "RECALL"

    @pytest.fixture(autouse=True)
    def _surroundings(self, model: ModelServer, tmp_path: Path) -> None:
        self.model, self.home = model, tmp_path / "home"

    def requests(self) -> int:
        return len(self.model.asked)


def desk_in(folder: Path, *, run: str = "tested-222222.1", **options: Any) -> RecordingContext:
    """Return the context of a run in a project of its own; `spec` are changes of the specification."""
    (folder / "project").mkdir(exist_ok=True)
    spec = evolve(SPEC, **{"cwd": str(folder / "project"), **options.pop("spec", {})})
    return RecordingContext(folder / "desk", spec=spec, run=run, **options)
