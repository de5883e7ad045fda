"""Spoken: what all dialects share: tools by name, arguments that are checked, refusals that are replies."""

from __future__ import annotations

from errands.dialects.arguments import checked
from errands.dialects.completion import advice
from errands.dialects.tool_context import Missing, ToolContext
from errands.model.errors import BadValue, ErrandsError
from errands.model.record import evolve
from errands.model.text.sanitise import line, visible
from errands.ports.dialect import Reply
from errands.text import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.ports.dialect import Caller, EngineApi, Tool

LONGEST_REFUSAL = 2000
END = "{end}"  # in a description: how the end of a task is told to whoever reads it


class BaseDialect:
    """A dialect has a method for every one of its tools, called as the tool is.

    `ask_with` is the call by which a task is asked about, for those who are not told of its end.
    """

    name: str
    ask_with: str
    spoken: tuple[Tool, ...]

    def tools(self, caller: Caller) -> tuple[Tool, ...]:
        said = advice(caller, self.ask_with)
        return tuple(evolve(each, description=each.description.replace(END, said)) for each in self.spoken)

    async def call(self, engine: EngineApi, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Reply:
        tool = next((each for each in self.spoken if each.name == name), None)
        if tool is None:
            known = ", ".join(each.name for each in self.spoken)
            return self.refused(f"Unknown tool: {line(name[:80])}. There are: {known}", {})
        try:
            given = checked(tool.parameters, arguments)
        except BadValue as error:
            return self.refused(f"Invalid arguments for {name}: {line(str(error))}", arguments)
        try:
            reply: Reply = await getattr(self, name)(ToolContext(engine, caller), **given)
        except Missing as error:
            return self.missing(error.shown)
        except ErrandsError as error:
            return self.refused(clip(visible(str(error)), LONGEST_REFUSAL), given)
        except OSError as error:  # what a task printed is in its hands, and so is where it stands
            return self.refused(f"What the task printed cannot be read: {line(str(error))}", given)
        return reply

    def missing(self, task_id: str) -> Reply:
        """Say that there is no such task, the same for whatever was asked."""
        return Reply(text=f"Task not found: {task_id}", failed=True)

    def refused(self, why: str, given: Mapping[str, Any]) -> Reply:
        """Say why something cannot be done."""
        return Reply(text=why, failed=True)
