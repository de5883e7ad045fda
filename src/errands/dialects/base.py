"""What all dialects share: tools by name, checked arguments, and refusals that are replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from errands.dialects.arguments import checked
from errands.dialects.completion import wake_advice
from errands.dialects.tool_context import Declined, Missing, ToolContext
from errands.model.errors import BadValue, ErrandsError, NotFound, StoreUnreadable
from errands.model.record import evolve
from errands.model.text.sanitise import line, visible
from errands.model.view import View
from errands.ports.dialect import Caller, Reply, Tool
from errands.text import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.dialect import EngineApi

LONGEST_REFUSAL = 2000
END = "{end}"  # in a description: replaced by how the caller learns of a task's end
UNLESS = " unless you say `fork`"  # in a description: left out for callers that cannot fork


class BaseDialect:
    """A dialect has one method for each tool, with the tool's name.

    `ask_with` is the tool to ask about a task with, for callers that are not notified.
    """

    name: str
    ask_with: str
    all_tools: tuple[Tool, ...]

    def tools(self, caller: Caller) -> tuple[Tool, ...]:
        said = wake_advice(caller, self.ask_with)
        offered = (
            each if caller.conversation is not None else _without_fork(each) for each in self.all_tools
        )
        return tuple(evolve(each, description=each.description.replace(END, said)) for each in offered)

    async def call(self, engine: EngineApi, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Reply:
        return await _masked(engine, await self._call(engine, caller, name, arguments))

    async def _call(
        self, engine: EngineApi, caller: Caller, name: str, arguments: Mapping[str, Any]
    ) -> Reply:
        tool = next((each for each in self.tools(caller) if each.name == name), None)
        if tool is None:
            known = ", ".join(each.name for each in self.all_tools)
            return self.refused(f"Unknown tool: {line(name[:80])}. There are: {known}", {})
        try:
            given = checked(tool.parameters, arguments)
        except BadValue as error:
            return self.refused(f"Invalid arguments for {name}: {line(str(error))}", arguments)
        context = ToolContext(engine, caller)
        try:
            reply: Reply = await getattr(self, name)(context, **given)
        except Missing as error:
            return self.missing(error.shown)
        except Declined as error:
            await context.tell(error.view)
            return self.declined(error.view, str(error))
        except ErrandsError as error:
            return self.refused(clip(visible(str(error)), LONGEST_REFUSAL), given)
        except OSError as error:  # a task can damage its own output file
            return self.refused(f"What the task printed cannot be read: {line(str(error))}", given)
        return reply

    def missing(self, task_id: str) -> Reply:
        """Reply that the task was not found."""
        return Reply(text=f"Task not found: {task_id}", failed=True)

    def refused(self, why: str, given: Mapping[str, Any]) -> Reply:
        """Reply why something cannot be done."""
        return Reply(text=why, failed=True)

    def declined(self, view: View, why: str) -> Reply:
        """Reply that a person said no, so that the task did not start."""
        return Reply(text=why, failed=True, tasks=(view.id,))


async def _masked(engine: EngineApi, reply: Reply) -> Reply:
    """Hide the secrets of the tasks in a reply: a command or a description may contain one."""
    try:
        mask = await engine.mask(*reply.tasks)
    except (NotFound, StoreUnreadable):  # one was cleared, and is named by its id alone
        kept = {view.id for view in await engine.list(ids=reply.tasks)}
        mask = await engine.mask(*kept)

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return mask.text(value)
        if isinstance(value, dict):
            return {name: clean(each) for name, each in value.items()}
        return [clean(each) for each in value] if isinstance(value, list | tuple) else value

    return evolve(reply, text=mask.text(reply.text), content=clean(reply.content))


def _without_fork(tool: Tool) -> Tool:
    """Return a tool without its argument `fork`, for callers whose conversation is not known."""
    properties = tool.parameters["properties"]
    if "fork" not in properties:
        return tool
    others = {name: each for name, each in properties.items() if name != "fork"}
    return evolve(
        tool,
        description=tool.description.replace(UNLESS, ""),
        parameters={**tool.parameters, "properties": others},
    )


def reply(
    views: Sequence[View], lines: list[str], content: Mapping[str, Any] | None = None, *, failed: bool = False
) -> Reply:
    """Reply about tasks, with the lines that are not empty."""
    return Reply(
        text="\n".join(each.rstrip("\n") for each in lines if each),
        content=content,
        failed=failed,
        tasks=tuple(view.id for view in views),
        proposed=tuple(view.id for view in views if view.state == "proposed"),
    )


def left_out(views: Sequence[View], most: int, hint: str = "") -> list[str]:
    """Return the last line of a list that shows only the first `most` tasks."""
    return [f"[{len(views) - most} older ones are left out{hint}]"] if len(views) > most else []
