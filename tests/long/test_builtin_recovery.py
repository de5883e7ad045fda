"""The built-in agent goes on after its process was killed, at whatever moment, and does nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server import ModelServer

ROOT = Path(__file__).parents[2]
PROMPT = """CALL command {"line": "echo first >>witness; cat witness"}
CALL write_file {"path": "deep/letter.txt", "content": "Dear reader"}
CALL command {"line": "echo last >>witness; cat witness"}"""


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.mark.spec("S14")
@pytest.mark.trap(60)
def test_a_kill_at_any_step_loses_nothing_and_repeats_nothing(model: ModelServer, tmp_path: Path) -> None:
    settings = json.dumps({"model": "fake", "url": model.openai_url})
    told = subprocess.run(
        [sys.executable, "-m", "tests.agents.builtin_mortal", settings, str(tmp_path), PROMPT],
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
        text=True,
        capture_output=True,
        check=True,
    )
    steps = [json.loads(line) for line in told.stdout.splitlines()]

    assert len(steps) > 30
    assert [each["deaths"][0] for each in steps] == [signal.SIGKILL] * (len(steps) - 1) + [0]
    killed_again = [each for each in steps if each["deaths"][1] == signal.SIGKILL]
    assert len(killed_again) > 20
    for each in steps:
        assert each["deaths"][2] == 0, told.stderr
        folder = tmp_path / str(each["step"])
        project = folder / "project"
        answer = (folder / "answer").read_text()
        assert (project / "witness").read_text() == "first\nlast\n", each
        assert "'first\\n', " in answer
        assert "first\\nlast\\n" in answer
        writes = (project / "writes").read_text() if (project / "writes").exists() else ""
        if "made deep/letter.txt, 11 bytes" in answer:
            assert writes == "deep/letter.txt\n", each
            assert (project / "deep/letter.txt").read_text() == "Dear reader"
        else:
            assert "may or may not have been carried out" in answer
            assert writes in ("", "deep/letter.txt\n"), each
        kept = (folder / "context/sessions/task:tested-222222").read_text()
        assert kept.count('\\"part_kind\\":\\"user-prompt\\"') == 1, each
