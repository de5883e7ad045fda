"""A turn: one prompt on its way to the answer, and what the agent says, calls and uses meanwhile."""

from __future__ import annotations

import asyncio
import json
import shlex
import time

from acp.schema import AgentThoughtChunk, PromptResponse, ToolCallUpdate, UsageUpdate

from errands.agents.acp.transcript import Piece, Transcript, edits
from errands.model.agent.errors import AgentError, BudgetExceeded
from errands.ports.agent import Activity, Decision, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

_SHOWN = 500  # characters of a tool's result that an activity shows
_MICRODOLLARS = 1_000_000


class Turn:
    def __init__(self, session: str, context: AgentContext) -> None:
        self.session = session
        self.history = Transcript()
        self.usage: dict[str, int] = {"requests": 1, "tool_calls": 0}
        self.stopped = asyncio.Event()
        self.reason: AgentError | None = None
        self._context = context
        self._told = 0  # pieces that were noted and kept
        self._calls: dict[str, str] = {}  # what is kept of each call
        self._granted: list[tuple[str, ...]] = []
        self._refused: list[str] = []
        self._held = 0
        self._heard = time.monotonic()
        self._is_answering = True  # the model is heard, not a tool

    @property
    def answer(self) -> str:
        """What the agent said last, and which calls it was refused: the protocol does not tell it why."""
        return "\n\n".join(each for each in (self.history.answer, *self._refused) if each)

    def hear(self, update: object) -> None:
        """Take in what the agent tells. Nothing here waits, so that updates keep their order."""
        self._heard = time.monotonic()
        if isinstance(update, UsageUpdate):
            if update.cost is not None and update.cost.currency == "USD":
                self._use(cost_microdollars=round(update.cost.amount * _MICRODOLLARS))
            return
        piece = self.history.add(update)
        if isinstance(update, AgentThoughtChunk) or (piece is not None and piece["role"] == "agent"):
            self._answering()
        elif piece is not None and piece["role"] == "tool":
            self._hear_call(piece)

    async def ask(self, call: ToolCall, *, wants: tuple[str, ...] = ()) -> Decision | None:
        """Have a call decided; None when the turn was stopped before that.

        An agent that asked for a call may have us do it afterwards: that is not asked a second time.
        """
        if self.stopped.is_set():
            return None
        if wants and wants in self._granted:
            self._granted.remove(wants)
            return Decision(allowed=True)
        self._held += 1
        deciding = asyncio.ensure_future(self._decide(call))
        stopping = asyncio.ensure_future(self.stopped.wait())
        try:
            await asyncio.wait((deciding, stopping), return_when=asyncio.FIRST_COMPLETED)
            # A stop goes first: nothing begins after it.
            decision = deciding.result() if deciding.done() and not self.stopped.is_set() else None
        except Exception as error:  # noqa: BLE001  # the agent would be told; the run has to be
            self.stop(
                error if isinstance(error, AgentError) else AgentError(f"nobody could be asked: {error!r}")
            )
            return None
        finally:
            deciding.cancel()
            stopping.cancel()
            self._held -= 1
            self._heard = time.monotonic()
        if decision is not None and not decision.allowed:
            self._refused.append(f"[{call.tool} was refused: {decision.reason or 'not allowed'}]")
        return decision

    async def ask_about(self, update: ToolCallUpdate) -> Decision | None:
        """Have a call decided that the agent will carry out itself."""
        piece = self.history.call(update)
        self._hear_call(piece)
        command = _command(piece)
        decision = await self.ask(
            ToolCall(id=piece["id"], tool=piece["name"], arguments=piece["arguments"], command=command)
        )
        if decision is not None and decision.allowed:
            self._granted += [("write", path, text) for path, text in edits(update)]
            self._granted += [("run", command)] if command is not None else []
        return decision

    def stop(self, reason: AgentError) -> None:
        """Ask for the end of the turn, with the error that it shall end in; the first reason counts."""
        if self.reason is None:
            self.reason = reason
            self.stopped.set()

    def silence(self) -> float:
        """Tell for how many seconds nothing was heard although nobody was asked and no tool was busy."""
        return 0.0 if self._held or self.history.unfinished else time.monotonic() - self._heard

    def close(self, response: PromptResponse | None) -> None:
        """Note and keep what is left, whatever became of the turn."""
        used = response.usage if response is not None else None
        if used is not None:
            self._use(input_tokens=used.input_tokens, output_tokens=used.output_tokens)
        self._tell(len(self.history.pieces))
        self._context.report(Activity(kind="usage", usage=dict(self.usage)))

    async def _decide(self, call: ToolCall) -> Decision:
        await self._context.wait_turn()
        return await self._context.request_approval(call)

    def _hear_call(self, piece: Piece) -> None:
        """Note the beginning and the end of a call, and keep all that is learnt of it meanwhile."""
        known = self._calls.get(piece["id"])
        now = self._calls[piece["id"]] = json.dumps([piece["arguments"], piece["ended"]], default=str)
        if known is None:
            self._answering()
            self._tell(self.history.pieces.index(piece))
            self._context.report(Activity(kind="tool", name=piece["name"], call_id=piece["id"]))
            self._use(tool_calls=self.usage["tool_calls"] + 1)
        if known == now:
            return
        self._keep(piece)
        if piece["ended"]:
            self._is_answering = False
            self._context.report(
                Activity(
                    kind="tool_end", name=piece["name"], call_id=piece["id"], failed=piece["failed"],
                    text=piece["result"][:_SHOWN],
                )
            )  # fmt: skip

    def _answering(self) -> None:
        """Count a request to the model: it is heard again after a tool."""
        if not self._is_answering:
            self._is_answering = True
            self._use(requests=self.usage["requests"] + 1)

    def _tell(self, end: int) -> None:
        """Note and keep what was said before the piece of this number."""
        for piece in self.history.pieces[self._told : end]:
            if piece["role"] == "agent" and piece["text"].strip():
                self._context.report(Activity(kind="text", text=piece["text"].strip()))
                self._keep(piece)
        self._told = max(self._told, end)

    def _keep(self, piece: Piece) -> None:
        self._context.append_messages(self.session, [json.dumps(piece, default=str)], usage={})

    def _use(self, **used: int) -> None:
        self.usage |= used
        if overrun := BudgetExceeded.among(self._context.spec.budget, self.usage):
            self.stop(overrun)


def _command(piece: Piece) -> str | None:
    """Give the line that a call would have a shell run."""
    found = piece["arguments"].get("command")
    if isinstance(found, list):
        return shlex.join(str(each) for each in found)
    return found if isinstance(found, str) else None
