"""How far an answer reaches that a program passes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.tools import DeferredToolRequests

from errands.frontends.toolset import BackgroundToolset
from errands.testing.engines import TestEngine
from tests.frontends.toolset.stage import Script


@pytest.mark.spec("A14")
async def test_a_program_passes_on_how_far_the_answer_reaches(engine: TestEngine, victim: Path) -> None:
    script = Script(("run", {"command": f"rm {victim}"}))
    agent = script.agent(toolsets=[BackgroundToolset(engine, approver="ada")])
    held = await agent.run("go")
    assert isinstance(held.output, DeferredToolRequests)
    shown = held.output.metadata["c0"]
    assert shown["answers"] == {"once": "Approve once", "always": "Always approve", "no": "Reject"}

    answers = held.output.build_results(approve_all=True, metadata={"c0": {**shown, "answer": "always"}})
    await agent.run(conversation=held.conversation, deferred_tool_results=answers)

    assert [each.by for each in engine.engine.standing_approvals()] == ["ada"]
