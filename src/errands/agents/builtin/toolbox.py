"""The tools of the built-in agent: its own, those for background tasks, and those of MCP servers."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, FunctionToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from errands.agents.builtin.project import Project
from errands.model.errors import BadValue
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext, BackgroundTools

T = TypeVar("T")

# These need no approval: they change nothing, or ask for it themselves. Every other tool asks.
FREE = frozenset({"command", "read_file", "list_files", "search_files", "memory_set", "memory_get"})
_PREFIX = "mcp_"  # so that no tool of a server has the name of one of ours
_TROUBLE = (OSError, ValueError, sqlite3.Error)  # ValueError: an impossible path
_LONGEST_OUTPUT = 20_000  # characters; the beginning and the end of what is longer

INSTRUCTIONS = (
    "Do not keep the person waiting. What may take more than a few seconds (tests, builds, downloads, "
    "research) belongs in the background: start it there with your tools for background tasks, say so, and "
    "carry on or end your answer; when you are not sure, offer it. `command` is only for what ends at once. "
    "You are told how each task ended before a later message, so do not poll, and wait for a task only if "
    "the person wants its result in this very answer. Quote the result when you use it. Suggest work that "
    "they did not ask for with `propose`, so that they decide. A task that needs "
    "approval waits until the person answers; you cannot answer for them."
)
# The dialect checks the arguments; here they only need names.
_NAMED = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))

_SCHEMA = """
CREATE TABLE IF NOT EXISTS memory (
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    set_at REAL NOT NULL,
    PRIMARY KEY (project, name)
) WITHOUT ROWID
"""


def chosen(context: AgentContext, settings: Mapping[str, Any]) -> AbstractToolset[None]:
    """Return the tools that the launch chose by name; `mcp_SERVER` chooses all tools of a server.

    The background tools of a conversation are there unless the launch chose others.
    """
    ours = toolbox(context, settings["home"])
    configured: Mapping[str, Any] = settings.get("mcp", {})
    wanted = context.spec.tools
    if wanted is None:
        behind = [] if context.background is None else [BackgroundToolset(context.background)]
        return CombinedToolset([ours, *behind, *_served(configured, context.spec.cwd)])
    groups = {name: f"{_PREFIX}{name}" for name in configured}
    for name in wanted:
        if name not in ours.tools and not any(_is_in(name, group) for group in groups.values()):
            known = (*ours.tools, *groups.values())
            raise BadValue(f"unknown tool {name!r}{did_you_mean(name, known)}. Known: {', '.join(known)}")
    needed = {
        name: server
        for name, server in configured.items()
        if any(_is_in(each, groups[name]) for each in wanted)
    }

    def is_wanted(_ctx: RunContext[None], tool: ToolDefinition) -> bool:
        whole = [each for each in wanted if each in groups.values()]
        return tool.name in wanted or any(_is_in(tool.name, group) for group in whole)

    return CombinedToolset([ours, *_served(needed, context.spec.cwd)]).filtered(is_wanted)


def is_free(name: str, context: AgentContext) -> bool:
    """Return whether a tool needs no approval, or asks for it by itself."""
    return name in FREE or name in names(context)


def _served(settings: Mapping[str, Any], cwd: str) -> Iterable[AbstractToolset[None]]:
    if not settings:
        return ()
    from errands.agents.builtin.servers import servers

    return servers(settings, prefix=_PREFIX, cwd=cwd)


def _is_in(tool: str, group: str) -> bool:
    return tool == group or tool.startswith(f"{group}_")


def toolbox(context: AgentContext, home: str) -> FunctionToolset[None]:
    """Return our own tools, those that need approval and those that do not."""
    project = Project(context.spec.cwd)
    memory = Memory(home, context.spec.cwd)
    tools: FunctionToolset[None] = FunctionToolset(id="errands")

    @tools.tool
    async def command(ctx: RunContext[None], line: str) -> str:
        """Run a shell command in the project directory, wait until it ends, and return its output.

        A person may have to approve it first. It is not interactive: it gets no input.

        Args:
            line: The command line.
        """
        assert ctx.tool_call_id is not None
        ran = await context.run_command(ctx.tool_call_id, line)
        output = _clipped(ran.output)
        if ran.state == "completed":
            return output or "[no output]"
        if ran.state == "rejected":
            raise ToolFailed(f"This command was not allowed: {ran.error or 'no reason was given'}")
        ending = f"exit code {ran.code}" if ran.code is not None else (ran.error or "no reason is known")
        return f"{output}\n[{ran.state}: {ending}]".lstrip()

    @tools.tool_plain
    async def read_file(path: str, start: int = 1, lines: int = 2000) -> str:
        """Read a text file of the project.

        Args:
            path: The file, relative to the project directory.
            start: The first line to read, counted from 1.
            lines: How many lines to read.
        """
        return _done(lambda: project.read(path, start=start, lines=lines))

    @tools.tool_plain
    async def write_file(path: str, content: str) -> str:
        """Create a text file of the project, or replace all of it. A person may have to approve it.

        Args:
            path: The file, relative to the project directory.
            content: The whole new content.
        """
        return _done(lambda: project.write(path, content))

    @tools.tool_plain
    async def list_files(path: str = ".") -> str:
        """List a directory of the project.

        Args:
            path: The directory, relative to the project directory.
        """
        return _done(lambda: project.entries(path))

    @tools.tool_plain
    async def search_files(text: str, path: str = ".", names: str = "*") -> str:
        """Find lines with a text in the files of the project.

        Args:
            text: The exact text to look for; it is not a pattern.
            path: The directory to search, with everything below it.
            names: A pattern for the names of files, such as *.py.
        """
        try:
            return await project.search(text, path, names=names)
        except _TROUBLE as error:
            raise ToolFailed(_reason(error)) from error

    @tools.tool_plain
    async def memory_set(name: str, value: str) -> str:
        """Remember something about this project for later tasks; this replaces an earlier value of that name.

        Args:
            name: What it is called.
            value: What to remember.
        """
        _done(lambda: memory.set(name, value))
        return f"remembered as {name!r}"

    @tools.tool_plain
    async def memory_get(name: str) -> str:
        """Get what an earlier task of this project remembered.

        Args:
            name: What it is called. An unknown name lists the known ones.
        """
        found = _done(lambda: memory.get(name))
        if found is None:
            known = ", ".join(_done(memory.names)) or "nothing"
            raise ToolFailed(f"Nothing is remembered as {name!r}. Known names: {known}")
        return found

    return tools


def hopeless(name: str, arguments: Mapping[str, Any], cwd: str) -> str:
    """Return why a call would fail even if approved; empty if it may succeed."""
    if name == "write_file":
        try:
            Project(cwd).place(str(arguments.get("path", "")))
        except _TROUBLE as error:
            return _reason(error)
    return ""


def _done(act: Callable[[], T]) -> T:
    """Do something; let the model know if it fails."""
    try:
        return act()
    except _TROUBLE as error:
        raise ToolFailed(_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)


def _clipped(output: str) -> str:
    """Shorten an output to its beginning and its end."""
    if len(output) <= _LONGEST_OUTPUT:
        return output
    half = _LONGEST_OUTPUT // 2
    return f"{output[:half]}\n[{len(output) - 2 * half:,} characters left out]\n{output[-half:]}"


class Memory:
    """What an agent wants to know again in later runs, by project and name."""

    def __init__(self, home: str, project: str) -> None:
        self._path = os.path.join(home, "memory.db")
        self._project = os.path.realpath(project)

    def set(self, name: str, value: str) -> None:
        with self._opened() as connection, connection:
            connection.execute(
                "INSERT INTO memory VALUES (?, ?, ?, ?) ON CONFLICT (project, name) "
                "DO UPDATE SET value = excluded.value, set_at = excluded.set_at",
                (self._project, name, value, time.time()),
            )

    def get(self, name: str) -> str | None:
        with self._opened() as connection:
            found = connection.execute(
                "SELECT value FROM memory WHERE project = ? AND name = ?", (self._project, name)
            ).fetchone()
        return None if found is None else str(found[0])

    def names(self) -> list[str]:
        """Return the known names, newest first."""
        with self._opened() as connection:
            found = connection.execute(
                "SELECT name FROM memory WHERE project = ? ORDER BY set_at DESC LIMIT 100", (self._project,)
            ).fetchall()
        return [str(name) for (name,) in found]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the database for one query: other runs use it, too."""
        with closing(sqlite3.connect(self._path, timeout=10)) as connection:
            connection.execute(_SCHEMA)
            yield connection


class BackgroundToolset(AbstractToolset[None]):
    def __init__(self, background: BackgroundTools) -> None:
        self._background = background

    @property
    def id(self) -> str:
        return "background"

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters),
                ),
                max_retries=1,
                args_validator=_NAMED,
            )
            for tool in self._background.tools
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> str:
        assert ctx.tool_call_id is not None
        reply = await self._background.call(ctx.tool_call_id, name, tool_args)
        if reply.failed:
            raise ToolFailed(reply.text)
        return reply.text


def names(context: AgentContext) -> frozenset[str]:
    """Return the names of the background tools that an agent is offered."""
    return frozenset(tool.name for tool in context.background.tools) if context.background else frozenset()
