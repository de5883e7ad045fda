"""Prompts: what people often want of tasks, for clients that offer prompts as commands."""

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
from errands.frontends.mcp.door import Door
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
        description="Start a command in the background and go on with something else",
        arguments=[PromptArgument(name="command", description="the command", required=True)],
    ),
    Prompt(name="tasks", title="Tasks", description="What was started here, and what became of it"),
    Prompt(name="approvals", title="Approvals", description="What waits for your yes, and how to give it"),
)


class Prompts:
    def __init__(self, door: Door) -> None:
        self._door = door

    async def list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=list(_PROMPTS))

    async def get(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        caller, given = self._door.caller(Client(ctx)), params.arguments or {}
        prompt = next((each for each in _PROMPTS if each.name == params.name), None)
        if prompt is None:
            known = ", ".join(each.name for each in _PROMPTS)
            raise NotFound(f"there is no prompt {line(params.name[:80])!r}; there are: {known}")
        wanted = {each.name for each in prompt.arguments or ()}
        if set(given) != wanted:
            raise BadValue(f"{prompt.name} takes {', '.join(wanted) or 'no arguments'}; give exactly that")
        if prompt.name == "background":
            text = _background(given["command"])
        elif prompt.name == "tasks":
            text = _tasks(self._door.tasks(caller, limit=_LISTED))
        else:
            text = _approvals(self._door.tasks(caller, limit=_LISTED, states=("proposed",)))
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=prompt.description, messages=[message])


def _background(command: str) -> str:
    if not command.strip() or len(command) > _LONGEST:
        raise BadValue(f"command must be a command of at most {_LONGEST:,} characters")
    return (
        "Start this command in the background with the tools of this server, tell me its task id and how its "
        f"end will be told, and do not wait for it:\n\n{command}"
    )


def _tasks(views: list[View]) -> str:
    if not views:
        return "No tasks were started here. Tell me so."
    return "These are the tasks that were started here. Tell me in a few words how they stand:\n\n" + _lines(
        views
    )


def _approvals(views: list[View]) -> str:
    if not views:
        return "No task waits for an approval. Tell me so."
    return (
        "These tasks wait for my approval. Show me each command, and that I can say `errands approve ID` or "
        "`errands reject ID` in a terminal; you cannot approve them for me:\n\n" + _lines(views)
    )


def _lines(views: list[View]) -> str:
    return "\n".join(f"- {view.id} ({view.state}): {clip(line(view.command), 200)}" for view in views)
