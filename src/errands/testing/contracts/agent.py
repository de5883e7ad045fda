"""The contract of an agent. Subclass it, and say what to create and how to control it.

The agent is real, and so is everything that it talks to, except the model.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from errands.model.errors import AgentError, SessionGone
from errands.model.record import evolve
from errands.ports.agent import Decision, ToolCall
from errands.testing.agent_context import SPEC, RecordingContext, no, spec_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import Agent

WITHIN = 60.0  # seconds to wait for a fact


class AgentContract(ABC):
    """`factory` names the class; `recall` is a prompt that is answered with the conversation so far."""

    factory: str
    recall: str
    soon = 30.0  # seconds within which an aborted prompt ends
    counts_tokens = True

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Return the settings of the backend; plain values, because another process gets them, too."""

    @abstractmethod
    def running(self, line: str) -> str:
        """Return a prompt that makes the agent run a shell line with one tool call, and report its output."""

    def requests(self) -> int | None:
        """Return how many requests the model has received so far; None without a model."""
        return None

    async def recalled(self, agent: Agent, session: str, context: RecordingContext) -> str:
        """Return the conversation so far, as the agent sees it."""
        return (await agent.prompt(session, self.recall, context)).text

    def make(self) -> Agent:
        module, _, name = self.factory.partition(":")
        agent: Agent = getattr(importlib.import_module(module), name)(dict(self.settings()))
        return agent

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[Agent]:
        made = self.make()
        try:
            yield made
        finally:
            await made.close()

    def context(self, folder: Path, **options: Any) -> RecordingContext:
        (folder / "project").mkdir(exist_ok=True)
        return RecordingContext(
            folder / "context",
            spec=evolve(SPEC, cwd=str(folder / "project"), **options.pop("spec", {})),
            **options,
        )

    async def test_a_prompt_is_answered(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            answer = await agent.prompt(session, self.running("echo twelve monkeys"), context)
        assert "twelve monkeys" in answer.text

    @pytest.mark.spec("S2")
    async def test_a_second_prompt_sees_the_first_one(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            await agent.prompt(session, self.running("echo marmalade"), context)
            answer = await self.recalled(agent, session, _next(context))
        assert "marmalade" in answer

    @pytest.mark.spec("S2")
    async def test_another_process_sees_the_earlier_conversation(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            await agent.prompt(session, self.running("echo marmalade"), context)
        async with self.agent() as agent:
            answer = await self.recalled(agent, session, _next(context))
        assert "marmalade" in answer

    @pytest.mark.spec("S8")
    async def test_a_fork_sees_the_history_and_leaves_it_untouched(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        child = self.context(tmp_path, session="task:forked-222222", run="forked-222222.1")
        async with self.agent() as agent:
            session = await agent.open(context)
            await agent.prompt(session, self.running("echo marmalade"), context)
            forked = await agent.fork(session, child)
            assert forked != session
            inherited = await agent.prompt(forked, self.running("echo honey"), child)
            assert "honey" in inherited.text
            in_the_fork = await self.recalled(agent, forked, _next(child))
            in_the_parent = await self.recalled(agent, session, _next(context))
        assert "marmalade" in in_the_fork
        assert "honey" in in_the_fork
        assert "marmalade" in in_the_parent
        assert "honey" not in in_the_parent

    @pytest.mark.spec("S8")
    async def test_a_fork_knows_nothing_that_was_said_after_it_was_asked_for(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            await agent.prompt(session, self.running("echo marmalade"), context)
            end = str(len(context.messages(session) or ()))
            await agent.prompt(session, self.running("echo honey"), _next(context))
            child = self.context(
                tmp_path, session="task:forked-222222", run="forked-222222.1", spec={"fork_at": end}
            )
            in_the_fork = await self.recalled(agent, await agent.fork(session, child), child)
        assert "marmalade" in in_the_fork
        assert "honey" not in in_the_fork

    @pytest.mark.spec("S8")
    async def test_a_session_that_is_gone_cannot_be_forked(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            await agent.prompt(session, self.running("echo marmalade"), context)
            await agent.drop(session, context)
            with pytest.raises(SessionGone):
                await agent.fork(session, self.context(tmp_path, session="task:forked-222222"))

    @pytest.mark.spec("S11")
    async def test_a_post_causes_no_answer_and_is_seen_by_the_next_prompt(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            await agent.prompt(session, self.running("echo marmalade"), context)
            before = self.requests()
            await agent.post(session, "the password is swordfish", context)
            assert self.requests() == before
            answer = await self.recalled(agent, session, _next(context))
        assert "swordfish" in answer

    @pytest.mark.spec("S11")
    async def test_a_post_can_be_the_first_message(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            await agent.post(session, "the password is swordfish", context)
            answer = await self.recalled(agent, session, context)
        assert "swordfish" in answer

    @pytest.mark.trap(64)
    async def test_a_cancelled_prompt_ends_soon(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            asking = asyncio.create_task(
                agent.prompt(session, self.running("touch begun; sleep 600"), context)
            )
            await until((tmp_path / "project" / "begun").exists, asking)
            began = time.monotonic()
            await agent.abort(session)
            asking.cancel()
            await asyncio.wait([asking], timeout=self.soon)
            assert asking.done()
            assert time.monotonic() - began < self.soon

    async def test_nothing_to_abort_is_no_error(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            await agent.abort(await agent.open(context))

    @pytest.mark.spec("S5")
    async def test_a_dropped_session_answers_no_more(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            await agent.prompt(session, self.running("echo marmalade"), context)
            await agent.drop(session, context)
            await agent.drop(session, context)
            with pytest.raises(SessionGone, match="Session expired or was deleted"):
                await agent.prompt(session, self.running("echo honey"), _next(context))

    @pytest.mark.spec("S14")
    async def test_a_prompt_that_was_never_sent_is_sent_by_recovery(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
        async with self.agent() as agent:
            answer = await agent.recover(session, self.running("echo x >>witness; echo done"), context)
        assert "done" in answer.text
        assert (tmp_path / "project" / "witness").read_text() == "x\n"

    @pytest.mark.spec("S14")
    async def test_a_prompt_that_was_answered_is_not_sent_again_by_recovery(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        text = self.running("echo x >>witness; echo done")
        async with self.agent() as agent:
            session = await agent.open(context)
            first = await agent.prompt(session, text, context)
        async with self.agent() as agent:
            answer = await agent.recover(session, text, self.context(tmp_path))
        assert answer.text == first.text
        assert (tmp_path / "project" / "witness").read_text() == "x\n"

    @pytest.mark.spec("S14")
    async def test_after_a_kill_in_the_middle_of_a_call_it_is_not_repeated(self, tmp_path: Path) -> None:
        """A call that had begun may end with its result, with word of the interruption, or with an error."""
        context = self.context(tmp_path)
        text = self.running("echo x >>witness; sleep 1; echo done")
        async with self.agent() as agent:
            session = await agent.open(context)
        child = self.process(context, session, text)
        witness = tmp_path / "project" / "witness"
        try:
            # The shell makes the file before it writes.
            await until(lambda: witness.exists() and witness.read_text(), child)
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        async with self.agent() as agent:
            try:
                said = (await agent.recover(session, text, context)).text
            except AgentError as error:
                said = str(error)
        assert "done" in said or "interrupted" in said
        assert witness.read_text() == "x\n"

    @pytest.mark.spec("A8")
    async def test_a_refused_call_is_not_carried_out_and_the_agent_is_told(self, tmp_path: Path) -> None:
        context = self.context(tmp_path, decide=no)
        async with self.agent() as agent:
            session = await agent.open(context)
            answer = await agent.prompt(session, self.running("echo x >>witness"), context)
        assert len(context.asked) == 1
        assert "echo x >>witness" in (context.asked[0].command or "")
        assert not (tmp_path / "project" / "witness").exists()
        assert "the person said no" in answer.text

    @pytest.mark.spec("A8")
    async def test_a_held_call_goes_on_when_it_is_allowed(self, tmp_path: Path) -> None:
        context = _Patient(self.context(tmp_path))
        async with self.agent() as agent:
            session = await agent.open(context)
            asking = asyncio.create_task(
                agent.prompt(session, self.running("echo x >>witness; echo done"), context)
            )
            await until(lambda: context.asked, asking)
            assert not (tmp_path / "project" / "witness").exists()
            context.answer.set_result(Decision(allowed=True))
            answer = await asyncio.wait_for(asking, WITHIN)
        assert "done" in answer.text
        assert (tmp_path / "project" / "witness").read_text() == "x\n"

    @pytest.mark.spec("O11")
    async def test_what_the_agent_does_is_noted(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            answer = await agent.prompt(session, self.running("echo marmalade"), context)
        kinds = [each.kind for each in context.notes]
        assert len(context.tools()) == 1
        assert kinds.index("tool") < kinds.index("tool_end")
        begun, ended = [each for each in context.notes if each.kind in ("tool", "tool_end")]
        assert begun.call_id == ended.call_id != ""
        assert not ended.failed
        if self.counts_tokens:
            assert answer.usage["input_tokens"] > 0
            assert answer.usage["output_tokens"] > 0
            assert context.used("input_tokens") == answer.usage["input_tokens"]

    @pytest.mark.spec("R2")
    async def test_it_waits_for_its_turn_before_a_call(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        context.open_gate.clear()
        async with self.agent() as agent:
            session = await agent.open(context)
            asking = asyncio.create_task(agent.prompt(session, self.running("echo x >>witness"), context))
            await until(lambda: context.turns, asking)
            assert not (tmp_path / "project" / "witness").exists()
            context.open_gate.set()
            await asyncio.wait_for(asking, WITHIN)
        assert (tmp_path / "project" / "witness").read_text() == "x\n"

    def process(self, context: RecordingContext, session: str, text: str) -> subprocess.Popen[bytes]:
        """Start a process that sends a prompt; it leads a process group of its own."""
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "errands.testing.prompt_process",
                self.factory,
                json.dumps(dict(self.settings())),
                str(context.folder),
                spec_text(context.spec),
                session,
                text,
            ],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
        )


class _Patient(RecordingContext):
    """A context where a person takes their time."""

    def __init__(self, context: RecordingContext) -> None:
        super().__init__(context.folder, spec=context.spec, session=context.session, run=context.run)
        self.answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()

    async def request_approval(self, call: ToolCall) -> Decision:
        await super().request_approval(call)
        return await self.answer


def _next(context: RecordingContext) -> RecordingContext:
    """Return the context of the next run of the same task."""
    task, _, number = context.run.rpartition(".")
    return RecordingContext(
        context.folder,
        spec=context.spec,
        session=context.session,
        run=f"{task}.{int(number) + 1}",
        decide=context.decide,
    )


async def until(fact: Callable[[], Any], of: asyncio.Task[Any] | subprocess.Popen[bytes]) -> None:
    """Wait until a fact is true, as long as the process that makes it true lives."""
    deadline = time.monotonic() + WITHIN
    while not fact():
        if isinstance(of, subprocess.Popen):
            assert of.poll() is None, f"the process ended with {of.returncode}"
        elif of.done():
            pytest.fail(f"it ended too soon: {of.result()}")
        assert time.monotonic() < deadline, f"it did not come true within {WITHIN:g} s"
        await asyncio.sleep(0.01)
