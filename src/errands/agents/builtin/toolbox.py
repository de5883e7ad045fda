"""The toolbox: what the built-in agent can do by itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.toolsets import FunctionToolset

from errands.agents.builtin.memory import Memory
from errands.agents.builtin.project import Project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

T = TypeVar("T")

# Those that need not be allowed: they change nothing, or ask by themselves. Whatever else there is, asks.
FREE = frozenset(
    {"command", "read_file", "list_files", "search_files", "memory_set", "memory_get"},
)
_TROUBLE = (OSError, ValueError, sqlite3.Error)  # ValueError: a path that can be no path
_LONGEST_OUTPUT = 20_000  # characters; the beginning and the end of what is longer


def toolbox(context: AgentContext, home: str) -> FunctionToolset[None]:
    """Give all tools of a task, those that ask and those that need not."""
    project = Project(context.spec.cwd)
    memory = Memory(home, context.spec.cwd)
    tools: FunctionToolset[None] = FunctionToolset(id="errands")

    @tools.tool
    async def command(ctx: RunContext[None], line: str) -> str:
        """Run a shell command in the project directory, wait for its end, and get its output.

        A person may have to allow it first. It is not interactive: nothing can be typed into it.

        Args:
            line: The command line, as one would type it.
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
            path: The file, as seen from the project directory.
            start: The first line wanted, counted from 1.
            lines: How many lines.
        """
        return _done(lambda: project.read(path, start=start, lines=lines))

    @tools.tool_plain
    async def write_file(path: str, content: str) -> str:
        """Write a text file of the project: it is made or replaced as a whole. A person may have to allow it.

        Args:
            path: The file, as seen from the project directory.
            content: All that shall be in it.
        """
        return _done(lambda: project.write(path, content))

    @tools.tool_plain
    async def list_files(path: str = ".") -> str:
        """List a directory of the project.

        Args:
            path: The directory, as seen from the project directory.
        """
        return _done(lambda: project.entries(path))

    @tools.tool_plain
    async def search_files(text: str, path: str = ".", names: str = "*") -> str:
        """Find lines with a text in the files of the project.

        Args:
            text: What to look for, letter by letter; no pattern.
            path: The directory to search, with all below it.
            names: A pattern for the names of files, such as *.py.
        """
        try:
            return await project.search(text, path, names=names)
        except _TROUBLE as error:
            raise ToolFailed(_reason(error)) from error

    @tools.tool_plain
    async def memory_set(name: str, value: str) -> str:
        """Remember something about this project for later tasks; it replaces what had the same name.

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
            name: What it is called. When there is no such thing, the names that there are are told.
        """
        found = _done(lambda: memory.get(name))
        if found is None:
            known = ", ".join(_done(memory.names)) or "nothing"
            raise ToolFailed(f"Nothing is remembered as {name!r}. There is: {known}")
        return found

    return tools


def hopeless(name: str, arguments: Mapping[str, Any], cwd: str) -> str:
    """Say why a call would fail whatever a person says; nothing when it may succeed."""
    if name == "write_file":
        try:
            Project(cwd).place(str(arguments.get("path", "")))
        except _TROUBLE as error:
            return _reason(error)
    return ""


def _done(act: Callable[[], T]) -> T:
    """Do something, and tell the model when it does not work."""
    try:
        return act()
    except _TROUBLE as error:
        raise ToolFailed(_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)


def _clipped(output: str) -> str:
    """Give the beginning and the end of an output that is too long."""
    if len(output) <= _LONGEST_OUTPUT:
        return output
    half = _LONGEST_OUTPUT // 2
    return f"{output[:half]}\n[{len(output) - 2 * half:,} characters left out]\n{output[-half:]}"
