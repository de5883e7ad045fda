"""The toolset: the tools of a dialect, for any pydantic-ai agent.

Approval uses pydantic-ai's own mechanism: the run ends with `DeferredToolRequests` and continues with the
answers. Meanwhile the task is a proposal, which can be answered in any other frontend, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic_ai import ApprovalRequired, ModelMessagesTypeAdapter, RunContext, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from errands import dialects
from errands.engine.actor import actor
from errands.engine.approval.answers import answers_to
from errands.engine.async_engine import AsyncEngine
from errands.frontends.tools.idempotent_engine import IdempotentEngine
from errands.model.errors import AlreadyResolved, Drifted, ErrandsError, IllegalMove
from errands.model.text.answers import ANSWERS, BY_NAME, ONCE
from errands.model.text.blake2 import blake2b
from errands.model.text.json_text import plain_text
from errands.model.view import View
from errands.ports.dialect import Caller, Reply, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.approval import Scope
    from errands.ports.dialect import EngineApi

FRONTEND = "toolset"
# The dialect checks the arguments; here they only need names.
_NAMED = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))


class BackgroundToolset(AbstractToolset[Any]):
    """Background tasks for an agent: `Agent(..., toolsets=[BackgroundToolset(engine)])`.

    `engine` comes from `errands.connect()`. The agent sees the tasks of `session`; by default each
    conversation has its own. `approver` names the person whose answers the program passes on.

    A call that needs approval raises `ApprovalRequired`, so the agent needs `DeferredToolRequests` among its
    output types; with `defers=False` the reply says instead that the task waits for a person. With
    `requires_approval` every call that may launch something needs approval, even a harmless one.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        *,
        dialect: str = "native",
        session: str | None = None,
        cwd: str | None = None,
        approver: str | None = None,
        defers: bool = True,
        requires_approval: bool = False,
        everything: bool = False,
        wakes: bool = False,
        id: str = "errands",
    ) -> None:
        self.engine = engine
        self._dialect = dialects.named(dialect)
        self._session = session
        self._cwd = cwd or os.getcwd()
        self._approver = approver or actor()
        self._defers = defers
        self._requires_approval = requires_approval
        self._everything = everything
        self._wakes = wakes
        self._id = id

    @property
    def id(self) -> str:
        return self._id

    def session(self, ctx: RunContext[Any]) -> str:
        """Return the session whose tasks an agent sees in a run, and which is notified."""
        return self._session or f"conversation:{ctx.conversation_id}"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        await self._withdraw_refused(ctx)
        return {
            tool.name: ToolsetTool(
                toolset=self, tool_def=self._definition(tool), max_retries=1, args_validator=_NAMED
            )
            for tool in self._dialect.tools(self._caller(ctx))
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        key = _key(self.session(ctx), ctx, tool_args)
        is_approved = ctx.tool_call_approved and await self._approve(ctx, key)
        reply = await self._call(ctx, name, tool_args, key)
        # Reading about a proposal asks for nothing.
        may_ask = not (tool.tool_def.metadata or {}).get("reads_only", False)
        if may_ask and reply.proposed and ctx.tool_call_approved and not is_approved:
            # The person approved a call before it had a task, or with other arguments.
            await self._approve(ctx, key)
            reply = await self._call(ctx, name, tool_args, key)
        if may_ask and reply.proposed and self._defers:
            (view,) = await self.engine.list(ids=reply.proposed[:1])
            raise ApprovalRequired(metadata=self._question(view))
        if reply.failed:
            raise ToolFailed(reply.text)
        return reply.text if reply.content is None else dict(reply.content)

    def _definition(self, tool: Tool) -> ToolDefinition:
        return ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=dict(tool.parameters),
            kind="unapproved" if self._requires_approval and tool.launches else "function",
            metadata={"reads_only": tool.reads_only, "destructive": tool.destructive},
        )

    def _caller(self, ctx: RunContext[Any]) -> Caller:
        return Caller(
            session=self.session(ctx),
            cwd=self._cwd,
            door=FRONTEND,
            client=(ctx.agent.name if ctx.agent else None) or "pydantic-ai",
            run=os.environ.get("ERRANDS_RUN_ID"),
            wake="session" if self._wakes else "none",
            everything=self._everything,
            message=f"{ctx.run_id}.{ctx.run_step}",
            conversation=self.session(ctx) if self.engine.engine.sessions.can_take_history else None,
        )

    async def _call(self, ctx: RunContext[Any], name: str, arguments: dict[str, Any], key: str) -> Reply:
        self.engine.engine.sessions.see_session(self.session(ctx))
        engine = cast("EngineApi", _ForkingEngine(self.engine, key, ctx))
        return await self._dialect.call(engine, self._caller(ctx), name, arguments)

    async def _approve(self, ctx: RunContext[Any], key: str) -> bool:
        """Approve what a call has proposed; return False if it proposed nothing."""
        proposed = await self.engine.list(states=("proposed",), parent=self.session(ctx))
        mine = [view for view in proposed if (view.key or "").startswith(f"{key}.")]
        if not mine:
            await self._withdraw(ctx, proposed)
        for view in mine:
            try:
                await self.engine.approve(
                    view.id, by=self._approver, scope=_scope(ctx), question=_question_shown(ctx, view)
                )
            except Drifted:
                (now,) = await self.engine.list(ids=[view.id])
                raise ApprovalRequired(metadata=self._question(now)) from None
            except ErrandsError as error:
                raise ToolFailed(str(error)) from None
        return bool(mine)

    def _question(self, view: View) -> dict[str, Any]:
        """Return what a person must see before approving, and the answers by name."""
        asked = view.question
        answers = () if asked is None else answers_to(self.engine.engine, asked)
        return {
            "task": view.id,
            "command": view.command,
            "cwd": view.cwd,
            "description": view.description,
            "reasons": [] if asked is None else [each.text for each in asked.reasons],
            "approval": None if asked is None else asked.id,
            "answers": {each.name: each.label for each in answers},
        }

    async def _withdraw(self, ctx: RunContext[Any], proposed: Sequence[View]) -> None:
        """Cancel what a call has proposed, now that a person wants it with other arguments."""
        call = f"{_call_key(self.session(ctx), ctx.messages, ctx.tool_call_id or '')}:"
        for view in proposed:
            if (view.key or "").startswith(call):
                await self.engine.cancel(view.id)
                await self.engine.acknowledge(view.latest.id, reader=FRONTEND)

    async def _withdraw_refused(self, ctx: RunContext[Any]) -> None:
        """Reject what a person declined, and cancel what was interrupted before they answered."""
        answers = dict(_answers(ctx.messages))
        if not answers:
            return
        session = self.session(ctx)
        for view in await self.engine.list(states=("proposed",), parent=session):
            for call_id, part in answers.items():
                if not (view.key or "").startswith(f"{_call_key(session, ctx.messages, call_id)}:"):
                    continue
                try:
                    if part.outcome == "denied":
                        note = str(part.content)[:200]
                        await self.engine.reject(view.id, by=self._approver, note=note)
                    else:
                        await self.engine.cancel(view.id)
                    # pydantic-ai tells the model.
                    await self.engine.acknowledge(view.latest.id, reader=FRONTEND)
                except (AlreadyResolved, IllegalMove, Drifted):
                    pass  # answered elsewhere meanwhile, or it needs a new answer


class _ForkingEngine(IdempotentEngine):
    """The engine as a call sees it: a fork copies the conversation that the call is part of."""

    def __init__(self, engine: AsyncEngine, key: str, ctx: RunContext[Any]) -> None:
        super().__init__(engine, key)
        self._ctx = ctx

    async def ask(self, text: str, /, **options: Any) -> View:
        if options.pop("fork", None) is not None:
            options["history"] = history(self._ctx)
        return await super().ask(text, **options)


def history(ctx: RunContext[Any]) -> list[str]:
    """Return the conversation up to the response that makes the current call, one text per message."""
    past = []
    for message in ctx.messages:
        if isinstance(message, ModelResponse) and any(
            part.tool_call_id == ctx.tool_call_id for part in message.tool_calls
        ):
            break
        past.append(ModelMessagesTypeAdapter.dump_json([message]).decode()[1:-1])
    return past


def _scope(ctx: RunContext[Any]) -> Scope:
    """Return how far the person's yes reaches: `answer` in the metadata that the program passes, or once."""
    shown = ctx.tool_call_metadata
    name = str(shown.get("answer", ONCE.name)) if isinstance(shown, dict) else ONCE.name
    if name not in BY_NAME or (scope := BY_NAME[name].scope) is None:
        names = ", ".join(each.name for each in ANSWERS if each.scope is not None)
        raise ToolFailed(f"unknown answer {name!r} in the metadata of the approval; there are: {names}")
    return scope


def _question_shown(ctx: RunContext[Any], view: View) -> int | None:
    """Return the id of the question that the person was shown, if the program kept it."""
    shown = ctx.tool_call_metadata
    if isinstance(shown, dict) and shown.get("task") == view.id and isinstance(shown.get("approval"), int):
        return int(shown["approval"])
    return None


def _key(session: str, ctx: RunContext[Any], arguments: dict[str, Any]) -> str:
    """Return the key of a call with its arguments, the same before and after an approval."""
    digest = blake2b(plain_text(arguments).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{_call_key(session, ctx.messages, ctx.tool_call_id or '')}:{digest}"


def _call_key(session: str, messages: Sequence[ModelMessage], call_id: str) -> str:
    """Return the key of a call; some models reuse call ids in every turn, so the time is part of it."""
    times = [
        each.timestamp.isoformat()
        for each in messages
        if isinstance(each, ModelResponse) and any(part.tool_call_id == call_id for part in each.tool_calls)
    ]
    return f"{FRONTEND}:{session}:{times[-1] if times else ''}:{call_id}"


def _answers(messages: Sequence[ModelMessage]) -> Iterator[tuple[str, ToolReturnPart]]:
    """Yield the calls that were answered without being made."""
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, ToolReturnPart) and part.outcome in ("denied", "interrupted"):
                    yield part.tool_call_id, part
