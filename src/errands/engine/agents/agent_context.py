"""The context of an agent's run: what its process offers to the agent, backed by the store.

Everything is stored at once, so another process can take over when this one dies.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext

from errands.engine.agents.activity import ActivityLog
from errands.engine.agents.background_calls import QUICK, BackgroundCalls
from errands.engine.agents.model_gate import LANE, LOOK, ModelGate
from errands.engine.agents.speech import Speech
from errands.engine.agents.wait_clock import WaitClock
from errands.engine.approval import tool_approvals
from errands.engine.approval.grants import call_grant
from errands.engine.async_engine import AsyncEngine
from errands.engine.bell_line import BellLine
from errands.engine.engine import Engine
from errands.engine.triggers.event_payload import prompt_with_event
from errands.model.action import Prompt
from errands.model.agent.fork import PREAMBLE
from errands.model.agent.session import (
    Session,
    chat_prompt,
    discord_prompt,
    is_conversation,
    session_name,
    system_prompt,
)
from errands.model.errors import AgentError, ErrandsError, StoreError
from errands.model.options.draft import Draft
from errands.model.run import task_of
from errands.model.span import caller, calling
from errands.model.view import View
from errands.ports.agent import Activity, CommandResult, Decision, Spec, ToolCall
from errands.ports.dialect import Caller
from errands.ports.output import CONTEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.agents.background_calls import Offer
    from errands.model.agent.session import Waiting
    from errands.model.approval import Approval
    from errands.model.verdict import Reason
    from errands.ports.agent import BackgroundTools

LOOK_AGAIN = 30.0  # seconds between two checks of what the doorbell announces anyway
SHOWN = 30_000  # characters of a command's output that an agent sees


class RunContext:
    def __init__(self, engine: Engine, run_id: str, offer: Offer | None = None) -> None:
        """`offer` makes the background tools of a conversation with a person; other agents get none."""
        task_id, self._number = task_of(run_id)
        self._engine = engine
        self._store = engine.store
        self._task = engine.store.task(task_id)
        action = self._task.action
        if not isinstance(action, Prompt):
            raise AgentError(f"{run_id} is not the run of an agent")
        self._action = action
        is_chat = is_conversation(self._task)
        self.run = run_id
        self.session = session_name(task_id)
        self.spec = Spec(
            agent=action.agent,
            cwd=action.cwd,
            system=self._system(is_chat),
            model=action.model,
            tools=action.tools,
            depth=action.depth,
            budget=action.budget,
            streams=is_chat,
            title=self._task.description,
            parent=self._task.parent,
            message=self._task.message,
            fork_at=action.fork_at,
        )
        self.background: BackgroundTools | None = None
        if is_chat and offer is not None:
            self.background = self._background(offer)
        self._speech = Speech(engine.home.run(run_id)) if is_chat else None
        self._wait_clock = WaitClock(engine.home.run(run_id))
        self._gate = ModelGate(engine.home.path)
        self._one_at_a_time = asyncio.Lock()
        self._away_for: list[Waiting] = []
        with self._store:
            self._store.add_exchange(run_id, prompt_with_event(engine, self._task, run_id, action.text))
        exchange = self._store.exchange(run_id)
        assert exchange is not None
        self.text = exchange.text
        self.answer = exchange.answer if exchange.failure is None else None
        self._activity = ActivityLog(engine, run_id, exchange.tools)
        self._was_waiting = exchange.waiting is not None
        current = self._store.session(task_id)
        is_mine = current is not None and (self._is_resume or current.run == self._number)
        self.own: Session | None = current if is_mine else None

    def _system(self, is_chat: bool) -> str:
        if not is_chat:
            said = system_prompt(self._task.description)
            return said if self._action.fork is None else f"{said}\n\n{PREAMBLE}"
        return (discord_prompt if self._task.door == "discord" else chat_prompt)(self._task.owner)

    @property
    def _is_resume(self) -> bool:
        return self._store.run(self.run).cause == "resume"

    async def take_over(self) -> None:
        """Continue where an earlier process of this run stopped: if it had lent its slot, get one again."""
        if self._was_waiting:
            await self._return()

    def opened(self, name: str) -> None:
        """Store the name of the session that was made for this task."""
        self.own = Session(
            task_id=self._task.id,
            run=self._number if self.own is None else self.own.run,
            agent=self._action.agent,
            name=name,
            forked_from=self._action.fork,
            created_at=self._engine.clock.now(),
        )
        with self._store:
            self._store.add_session(self.own)
        self._engine.bell.announce([self._task.id])

    @property
    def fork(self) -> str | None:
        return self._action.fork

    def gone(self) -> None:
        """Note that the session is gone, so that the next resume is refused at once."""
        if self.own is not None:
            with self._store:
                self._store.mark_session_gone(self.own, now=self._engine.clock.now())

    def report(self, event: Activity) -> None:
        if self._speech is not None:
            self._speech.note(event)
        if event.kind != "piece":  # part of a text that is still to come
            self._activity.note(event)

    def write_activity(self) -> None:
        self._activity.write()

    async def request_approval(self, call: ToolCall) -> Decision:
        """Let the judge decide about a command. If it says ask, and for every other call, ask a person."""
        engine, task = self._engine, self._task
        reasons: tuple[Reason, ...] = ()
        if call.command is not None:
            draft = self._draft(call.id, call.command)
            judgement = engine.judge(draft)
            reasons = judgement.reasons
            if judgement.verdict == "deny":
                return Decision(allowed=False, reason="; ".join(each.text for each in reasons))
            if judgement.verdict == "auto" or engine.is_granted(draft):
                return Decision(allowed=True)
        if by := call_grant(engine, task.id, call):
            return Decision(allowed=True, reason=f"allowed by {by}")
        if engine.config.agents.unattended == "refuse":
            return Decision(allowed=False, reason=tool_approvals.REFUSED)
        run = self._store.run(self.run)
        async with self._one_at_a_time:
            question = tool_approvals.asked(engine, task, run, call) or tool_approvals.ask_about(
                engine, task, run, call, reasons
            )
            if question.state == "waiting":
                async with self._away("approval"):
                    question = await self._answer(question)
        return tool_approvals.decision(question)

    async def _answer(self, question: Approval) -> Approval:
        """Wait for the answer of a person, or for the end of the question."""
        async with BellLine(self._engine, [self._task.id]) as line:
            while (answer := tool_approvals.answer_to(self._engine, question)) is None:
                await line.news(LOOK_AGAIN)
        return answer

    def _background(self, offer: Offer) -> BackgroundCalls:
        """Return the tools for a caller whose tasks belong to the conversation, and report to it."""
        caller = Caller(
            session=self._task.owner,
            conversation=self._task.id,
            cwd=self._action.cwd,
            door="agent",
            client=self._action.agent,
            run=self.run,
            wake="session",
            message=self.run,
        )
        return BackgroundCalls(
            offer(self._engine, caller), self.run, away=lambda: self._away("task"), environ=self._environ
        )

    def _environ(self, call_id: str) -> dict[str, str]:
        """Return the variables for what a call of the agent starts."""
        variables = self._store.environment(self._action.environment)
        return {**variables, **self._action.env, **_traced(call_id)}

    def _draft(self, call_id: str, line: str) -> Draft:
        """Return the draft of a command in the agent's directory and environment."""
        return Draft(
            command=line,
            description=f"a command of {self._task.id}: {line}",
            cwd=self.spec.cwd,
            environ=self._environ(call_id),
            parent=self.session,
            message=call_id,
            owner=self._task.owner,
            key=f"{self.run}:{call_id}",
            notify="never",
            created_by=f"run {self.run}",
            door="agent",
        )

    async def run_command(self, call_id: str, line: str) -> CommandResult:
        draft = self._draft(call_id, line)
        try:
            if self._engine.config.agents.unattended == "refuse":
                judgement = self._engine.judge(draft)
                if judgement.verdict == "ask" and not self._engine.is_granted(draft):
                    why = "; ".join(each.text for each in judgement.reasons)
                    return CommandResult(state="rejected", error=f"{why}: {tool_approvals.REFUSED}")
            view = self._engine.submit(draft)
        except StoreError:
            raise
        except ErrandsError as error:
            return CommandResult(state="rejected", error=str(error))
        try:
            view = await self._ended(view)
        except asyncio.CancelledError:
            self._engine.cancel([view.id], by=f"run {self.run}")
            raise
        return CommandResult(
            state=view.state,
            output=self._output(view),
            code=view.latest.exit_code,
            error=view.latest.error,
            task=view.id,
        )

    async def _ended(self, view: View) -> View:
        """Wait for a child task; lend our slot when it takes longer."""
        engine = AsyncEngine(self._engine)
        view = await engine.wait(view.id, timeout=0 if view.state == "proposed" else QUICK)
        if view.state == "proposed":
            async with self._away("approval"), BellLine(self._engine, [view.id]) as line:
                while view.state == "proposed":
                    await line.news(LOOK_AGAIN)
                    (view,) = self._engine.summaries([view.id])
        if view.is_live:
            async with self._away("task"):
                view = await engine.wait(view.id)
        return view

    def _output(self, view: View) -> str:
        """Read what a task printed, with secrets masked, and without the middle if it is too long."""
        mask = self._engine.mask(view.id)
        head = self._engine.output(view.id, limit=SHOWN).content
        if len(head) < SHOWN:
            return mask.text(_decoded(head))
        half = SHOWN // 2
        last = self._engine.tail(view.id, 1000)
        before, tail = last.before + last.content[:-half], last.content[-half:]
        return (
            mask.text(_decoded(head[:half]), after=_decoded(head[half:][:CONTEXT]))
            + f"\n[... the middle is left out; all of it: errands logs {view.id} ...]\n"
            + mask.text(_decoded(tail), before=_decoded(before[-CONTEXT:]))
        )

    async def wait_turn(self) -> None:
        if self._task.lane != LANE or not self._gate.is_closed():
            return
        with self._wait_clock:
            if not self._away_for:
                self._wait_for("turn")
            while self._gate.is_closed():
                await asyncio.sleep(LOOK)
            if not self._away_for:
                self._wait_for(None)

    # Waiting without a slot.

    @asynccontextmanager
    async def _away(self, what: Waiting) -> AsyncIterator[None]:
        """Lend our slot while we wait for something that may take long.

        Of several waits at once, the last to end returns the slot: no agent continues before it has all
        results. The time a person takes does not count for any time-out; the time of our own tasks does.
        """
        self.write_activity()  # a process that waits long may be killed meanwhile
        self._away_for.append(what)
        self._wait_for(self._chief_wait)
        self._engine.bell.ring_about([self._task.id])  # the process that waits for us may show the question
        is_over = False
        try:
            with self._wait_clock if what == "approval" else nullcontext():
                yield
            is_over = True
        finally:
            self._away_for.remove(what)
            if self._away_for:
                self._wait_for(self._chief_wait)
            elif not is_over:  # cancelled: the slot comes without our waiting for it
                self._wait_for("slot")
                self._engine.bell.ring()
        if not self._away_for:
            await self._return()

    @property
    def _chief_wait(self) -> Waiting:
        return "approval" if "approval" in self._away_for else self._away_for[-1]

    async def _return(self) -> None:
        """Wait for a slot of the lane again; the time does not count for any time-out."""
        self._wait_for("slot")
        self._engine.bell.ring()
        with self._wait_clock:
            async with BellLine(self._engine, [self._task.id]) as line:
                while self._waits:
                    await line.news(LOOK_AGAIN)

    @property
    def _waits(self) -> bool:
        exchange = self._store.exchange(self.run)
        return exchange is not None and exchange.waiting is not None

    def _wait_for(self, what: Waiting | None) -> None:
        with self._store:
            self._store.set_waiting(self.run, what)
        self._engine.bell.announce([self._task.id])

    def messages(self, session: str) -> Sequence[str] | None:
        found = self._find(session)
        return None if found is None or found.gone_at is not None else self._store.messages(found)

    def append_messages(self, session: str, messages: Sequence[str]) -> None:
        with self._store:
            found = self._find(session)
            if found is None:
                self.opened(session)
                found = self.own
            assert found is not None
            self._store.add_messages(found, messages, run=self._number, now=self._engine.clock.now())
        self._engine.bell.announce([self._task.id])

    def delete_messages(self, session: str) -> None:
        found = self._find(session)
        if found is not None:
            with self._store:
                self._store.mark_session_gone(found, now=self._engine.clock.now())

    def _find(self, session: str) -> Session | None:
        """Find a session by its name: our own, or the latest of that name."""
        if self.own is not None and session in (self.own.name, self.session):
            return self._store.session(self._task.id)
        return None if session == self.session else self._store.session(name=session)


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _traced(call_id: str) -> dict[str, str]:
    """Return the variables that make a call the parent of what it starts, in the trace."""
    place = caller(os.environ)
    return {} if place is None else {"TRACEPARENT": calling(place, call_id).traceparent}
