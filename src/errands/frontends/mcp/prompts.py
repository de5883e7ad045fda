"""Prompts: common requests about tasks, which many clients offer as commands."""

from __future__ import annotations

from mcp_types import (
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from errands.frontends.mcp.client import Client, Context
from errands.frontends.mcp.frontend import Frontend
from errands.model.errors import BadValue, NotFound
from errands.model.text.sanitise import line
from errands.model.view import View
from errands.text import clip

_LISTED = 50
_LONGEST = 10_000

_PROMPTS = (
    Prompt(
        name="background",
        title="Run in the background",
        description="Start a command in the background and continue with something else",
        arguments=[PromptArgument(name="command", description="the command", required=True)],
    ),
    Prompt(name="tasks", title="Tasks", description="The tasks of this session and their state"),
    Prompt(name="approvals", title="Approvals", description="The tasks that wait for your approval"),
)


class Prompts:
    def __init__(self, frontend: Frontend) -> None:
        self._frontend = frontend

    async def list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=list(_PROMPTS))

    async def get(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        caller, arguments = self._frontend.caller(Client(ctx)), params.arguments or {}
        prompt = next((each for each in _PROMPTS if each.name == params.name), None)
        if prompt is None:
            known = ", ".join(each.name for each in _PROMPTS)
            raise NotFound(f"unknown prompt {line(params.name[:80])!r}; the prompts are: {known}")
        expected = {each.name for each in prompt.arguments or ()}
        if set(arguments) != expected:
            raise BadValue(f"{prompt.name} takes {', '.join(expected) or 'no arguments'}; pass exactly that")
        if prompt.name == "background":
            text = _background(arguments["command"])
        elif prompt.name == "tasks":
            views = self._frontend.tasks(caller, limit=_LISTED)
            text = self._frontend.masked(views, _tasks(views))
        else:
            views = self._frontend.tasks(caller, limit=_LISTED, states=("proposed",))
            text = self._frontend.masked(views, _approvals(views))
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=prompt.description, messages=[message])


def _background(command: str) -> str:
    if not command.strip() or len(command) > _LONGEST:
        raise BadValue(f"command must have 1 to {_LONGEST:,} characters")
    return (
        "Start this command in the background with the tools of this server. Tell me its task id and how you "
        f"will learn that it has ended, and do not wait for it:\n\n{command}"
    )


def _tasks(views: list[View]) -> str:
    if not views:
        return "No tasks were started in this session. Tell me so."
    return "These tasks were started in this session. Summarise their state:\n\n" + _lines(views)


def _approvals(views: list[View]) -> str:
    if not views:
        return "No tasks are waiting for approval. Tell me so."
    return (
        "These tasks are waiting for my approval. Show me each command, and remind me that I can type "
        "`errands approve ID` or `errands reject ID` in a terminal; you cannot approve them for me:\n\n"
        + _lines(views)
    )


def _lines(views: list[View]) -> str:
    return "\n".join(f"- {view.id} ({view.state}): {clip(line(view.command), 200)}" for view in views)
