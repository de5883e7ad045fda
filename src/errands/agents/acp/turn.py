"""A turn: one prompt until its answer, and what the agent says, calls and uses meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import time

from acp.schema import AgentThoughtChunk, PromptResponse, ToolCallUpdate, UsageUpdate

from errands.agents.acp.transcript import Piece, Transcript, edits
from errands.agents.session_log import tool_started
from errands.model.errors import AgentError, BudgetExceeded
from errands.ports.agent import Activity, Decision, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

# What agents call the directory of a command.
_DIRECTORIES = ("cwd", "workdir", "working_directory", "workingDirectory", "directory", "dir_path", "dir")
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
        self._stored = 0  # pieces that were reported and stored
        self._calls: dict[str, str] = {}  # the stored state of each call
        self._granted: list[tuple[str, ...]] = []
        self._refused: list[str] = []
        self._questions = 0
        self._active_at = time.monotonic()
        self._is_answering = True  # the model is at work, not a tool

    @property
    def answer(self) -> str:
        """What the agent said last, and the refused calls: the protocol cannot explain a refusal."""
        return "\n\n".join(each for each in (self.history.answer, *self._refused) if each)

    def handle(self, update: object) -> None:
        """Process an update. Nothing here waits, so that updates keep their order."""
        self._active_at = time.monotonic()
        if isinstance(update, UsageUpdate):
            if update.cost is not None and update.cost.currency == "USD":
                self._use(cost_microdollars=round(update.cost.amount * _MICRODOLLARS))
            return
        piece = self.history.add(update)
        if isinstance(update, AgentThoughtChunk) or (piece is not None and piece["role"] == "agent"):
            self._answering()
        elif piece is not None and piece["role"] == "tool":
            self._handle_call(piece)

    async def ask(self, call: ToolCall, *, wants: tuple[str, ...] = ()) -> Decision | None:
        """Request approval for a call; return None if the turn was stopped before the decision.

        An agent may ask for a call first and then have us carry it out: that needs no second approval.
        """
        if self.stopped.is_set():
            return None
        if wants and wants in self._granted:
            self._granted.remove(wants)
            return Decision(allowed=True)
        self._questions += 1
        deciding = asyncio.ensure_future(self._decide(call))
        stopping = asyncio.ensure_future(self.stopped.wait())
        try:
            await asyncio.wait((deciding, stopping), return_when=asyncio.FIRST_COMPLETED)
            # A stop wins: nothing begins after it.
            decision = deciding.result() if deciding.done() and not self.stopped.is_set() else None
        except Exception as error:  # noqa: BLE001  # the run must fail, not just the call
            self.stop(
                error
                if isinstance(error, AgentError)
                else AgentError(f"the approval could not be requested: {error!r}")
            )
            return None
        finally:
            deciding.cancel()
            stopping.cancel()
            self._questions -= 1
            self._active_at = time.monotonic()
        if decision is not None and not decision.allowed:
            self._refused.append(f"[{call.tool} was refused: {decision.reason or 'not allowed'}]")
        return decision

    async def ask_about(self, update: ToolCallUpdate) -> Decision | None:
        """Request approval for a call that the agent will carry out itself."""
        piece = self.history.call(update)
        self._handle_call(piece)
        command = _command(piece, self._context.spec.cwd)
        decision = await self.ask(
            ToolCall(id=piece["id"], tool=piece["name"], arguments=piece["arguments"], command=command)
        )
        if decision is not None and decision.allowed:
            self._granted += [("write", path, text) for path, text in edits(update)]
            self._granted += [("run", command)] if command is not None else []
        return decision

    def stop(self, reason: AgentError) -> None:
        """Ask the turn to end with this error; the first reason counts."""
        if self.reason is None:
            self.reason = reason
            self.stopped.set()

    def silence(self) -> float:
        """Return the seconds without an update, not counting pending approvals and running tools."""
        return 0.0 if self._questions or self.history.unfinished else time.monotonic() - self._active_at

    def close(self, response: PromptResponse | None) -> None:
        """Report and store what is left, however the turn ended."""
        used = response.usage if response is not None else None
        if used is not None:
            self._use(input_tokens=used.input_tokens, output_tokens=used.output_tokens)
        self._store(len(self.history.pieces))
        self._context.report(Activity(kind="usage", usage=dict(self.usage)))

    async def _decide(self, call: ToolCall) -> Decision:
        await self._context.wait_turn()
        return await self._context.request_approval(call)

    def _handle_call(self, piece: Piece) -> None:
        """Report the start and the end of a call, and store every change of it."""
        known = self._calls.get(piece["id"])
        now = self._calls[piece["id"]] = json.dumps([piece["arguments"], piece["ended"]], default=str)
        if known is None:
            self._answering()
            self._store(self.history.pieces.index(piece))
            self._context.report(tool_started(piece["name"], piece["id"], piece["arguments"]))
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
        """Count another request once the model continues after a tool."""
        if not self._is_answering:
            self._is_answering = True
            self._use(requests=self.usage["requests"] + 1)

    def _store(self, end: int) -> None:
        """Report and store the texts before the piece with this number."""
        for piece in self.history.pieces[self._stored : end]:
            if piece["role"] == "agent" and piece["text"].strip():
                self._context.report(Activity(kind="text", text=piece["text"].strip()))
                self._keep(piece)
        self._stored = max(self._stored, end)

    def _keep(self, piece: Piece) -> None:
        self._context.append_messages(self.session, [json.dumps(piece, default=str)])

    def _use(self, **used: int) -> None:
        self.usage |= used
        if overrun := BudgetExceeded.among(self._context.spec.budget, self.usage):
            self.stop(overrun)


def _command(piece: Piece, cwd: str) -> str | None:
    """Return the shell line that a call would run, with the directory that it names."""
    arguments = piece["arguments"]
    found = arguments.get("command")
    if isinstance(found, list):
        found = shlex.join(str(each) for each in found)
    if not isinstance(found, str):
        return None
    place = next((arguments[name] for name in _DIRECTORIES if isinstance(arguments.get(name), str)), "")
    return in_directory(found, os.path.join(cwd, place), cwd)


def in_directory(line: str, directory: str, cwd: str) -> str:
    """Return a line as it is judged and shown: git, for one, runs other programs in another directory."""
    if os.path.realpath(directory) == os.path.realpath(cwd):
        return line
    return f"cd {shlex.quote(os.path.normpath(directory))} && {line}"
