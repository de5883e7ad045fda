"""The dialect of Claude Code: `Task`, `Bash`, `TaskOutput`, `KillShell`, and the list behind `/tasks`.

A foreground command that takes longer than its time-out continues as a background task: nothing is killed
or started again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from errands.dialects.arguments import milliseconds, offered, schema, task_id, text
from errands.dialects.base import BaseDialect, left_out, reply
from errands.dialects.completion import remarks, wake
from errands.dialects.output_text import elapsed, one_line
from errands.dialects.projections import CLAUDE, CLAUDE_TYPES, ICONS, claude, claude_exit_code, claude_type
from errands.dialects.tool_context import ToolContext
from errands.model.text.duration import spoken
from errands.model.view import View, plain_value
from errands.ports.dialect import Reply, Tool
from errands.ports.schema import flag, integer
from errands.text import pad

LISTED = 50  # tasks in one list
FOREGROUND = 30_000  # milliseconds
NOT_FOUND = "Task not found"
NOTHING = "No background tasks."
_RULE = "─" * 70
_ID = "id of the task, from its launch or from tasks"


class Claude(BaseDialect):
    name = "claude"
    ask_with = "TaskOutput"
    all_tools = (
        Tool(
            name="Task",
            description="Launch a subagent on a task of several steps. With run_in_background it returns a "
            "task_id at once. Otherwise it waits; what takes longer continues in the background. {end}\n"
            'Example: {"description": "Run tests", "prompt": "Execute the full test suite", '
            '"subagent_type": "general-purpose", "run_in_background": true}',
            parameters=schema(
                "description",
                "prompt",
                "subagent_type",
                description=text("3 to 5 words", longest=1000),
                prompt=text("what the subagent should do"),
                subagent_type=text("kind of subagent", longest=200),
                run_in_background=flag(default=False),
                fork=flag("begin with a copy of this conversation", default=False),
                timeout=integer("stop the subagent after this time, ms (default: never)", minimum=1),
                **offered("allow", "allow_tools"),
            ),
        ),
        Tool(
            name="Bash",
            description="Run a shell command. With run_in_background it returns a task_id at once. Otherwise "
            "it waits for timeout ms; then the command continues in the background under its task_id. {end}\n"
            'Example: {"command": "npm test", "run_in_background": true}',
            parameters=schema(
                "command",
                command=text("shell line"),
                description=text("what it does, in 5 to 10 words", longest=1000),
                timeout=milliseconds("longest wait in the foreground, ms", default=FOREGROUND),
                run_in_background=flag(default=False),
            ),
            may_need_approval=True,
        ),
        Tool(
            name="TaskOutput",
            description="Get the status and the output of a background task, running or completed. Use "
            'block=false to look without waiting. Example: {"task_id": "npm-7k2m4x", "block": false}',
            parameters=schema(
                "task_id",
                task_id=task_id(_ID),
                block=flag("wait for completion", default=True),
                timeout=milliseconds("longest wait, ms", default=30_000),
            ),
            reads_only=True,
        ),
        Tool(
            name="SendMessage",
            description="Send a completed subagent a follow-up; it remembers its whole conversation. "
            'Returns at once. {end}\nExample: {"to": "find-dead-code-7k2m4x", "message": "And in tests/?"}',
            parameters=schema("to", "message", to=task_id(_ID), message=text("what it should do next")),
        ),
        Tool(
            name="KillShell",
            description='End a background task and all its processes. Example: {"shell_id": "npm-7k2m4x"}',
            parameters=schema("shell_id", shell_id=task_id(_ID)),
            destructive=True,
        ),
        Tool(
            name="tasks",
            description='List your background tasks, newest first. Example: {"status": "running"}',
            parameters=schema(
                status=text(longest=20, enum=list(CLAUDE)), type=text(longest=20, enum=list(CLAUDE_TYPES))
            ),
            reads_only=True,
        ),
    )

    async def Task(  # noqa: N802  # the name of the tool
        self,
        context: ToolContext,
        *,
        description: str,
        prompt: str,
        subagent_type: str,
        run_in_background: bool,
        fork: bool = False,
        timeout: float | None = None,
        **grants: Any,
    ) -> Reply:
        chosen, note = context.agent(subagent_type)
        view = await context.ask(
            prompt,
            is_awaited=not run_in_background,
            name=one_line(description, 60),
            description=description,
            agent=chosen,
            fork=context.caller.conversation if fork else None,
            timeout=None if timeout is None else timeout / 1000,
            **grants,
        )
        wait = 0 if run_in_background else FOREGROUND
        return await self._started(context, view, wait, f"Prompt: {one_line(prompt, 80)}", note)

    async def Bash(  # noqa: N802
        self,
        context: ToolContext,
        *,
        command: str,
        timeout: float,
        run_in_background: bool,
        description: str | None = None,
    ) -> Reply:
        wait = 0 if run_in_background else timeout
        view = await context.submit(command, is_awaited=bool(wait), description=description)
        return await self._started(context, view, wait, f"Command: {one_line(command)}", "")

    async def TaskOutput(  # noqa: N802
        self, context: ToolContext, *, task_id: str, block: bool, timeout: float
    ) -> Reply:
        view = await context.find(task_id)
        if block and view.is_live:
            view = await context.wait(view, timeout)
        return await self._output(context, view)

    async def SendMessage(self, context: ToolContext, *, to: str, message: str) -> Reply:  # noqa: N802
        found = await context.find(to)
        view = await context.engine.resume(found.id, message)
        return await self._started(context, view, 0, f"Prompt: {one_line(message, 80)}", "")

    async def KillShell(self, context: ToolContext, *, shell_id: str) -> Reply:  # noqa: N802
        view = await context.find(shell_id)
        if not view.is_open:
            why = f"Task is not running (status: {claude(view)})"
            facts = {"success": False, "task_id": view.id, "status": claude(view), "error": why}
            return reply([view], [why], facts, failed=True)
        (view,) = await context.cancel(view)
        facts = {"success": not view.is_open, "task_id": view.id, "status": claude(view)}
        return reply([view], [f"Task ID: {view.id}", f"Status: {claude(view).capitalize()}"], facts)

    async def tasks(
        self, context: ToolContext, *, status: str | None = None, type: str | None = None
    ) -> Reply:
        views = [
            view
            for view in await context.tasks()
            if status in (None, claude(view)) and type in (None, claude_type(view))
        ]
        if not views:
            return Reply(text=NOTHING, content={"tasks": []})
        shown = views[:LISTED]
        lines = listed(shown, context.engine.now()) + left_out(views, LISTED)
        lines = ["Background Tasks:", _RULE, *lines, _RULE, "Use TaskOutput tool to get task output."]
        return reply(shown, lines, {"tasks": [_facts(view) for view in shown]})

    def missing(self, task_id: str) -> Reply:
        content = {"success": False, "task_id": task_id, "status": "error", "error": NOT_FOUND}
        return Reply(text=NOT_FOUND, content=content, failed=True)

    def refused(self, why: str, given: Mapping[str, Any]) -> Reply:
        return Reply(text=why, content={"success": False, "error": why}, failed=True)

    def declined(self, view: View, why: str) -> Reply:
        facts = {"success": False, "task_id": view.id, "status": claude(view), "error": why}
        return reply([view], [why], facts, failed=True)

    async def _started(self, context: ToolContext, view: View, wait: float, what: str, note: str) -> Reply:
        """Reply that a task runs in the background or, if it ended within the wait, how."""
        said: Mapping[str, Any] = {}
        is_proposed = view.state == "proposed"
        lines = [f"Background Task {'Awaiting Approval' if is_proposed else 'Started'}"]
        if wait:
            view = await context.wait_or_background(view, wait)
            if not view.is_live:
                return await self._output(context, view)
            if not is_proposed:
                so_far = await self._output(context, view)
                said, lines = so_far.content or {}, [so_far.text, "It continues in the background."]
        view = await context.started(view)
        told = wake(view, context.caller, f"TaskOutput(task_id={view.id})")
        facts = {
            "success": True,
            **said,
            "task_id": view.id,
            "status": claude(view),
            "output_file": view.latest.output_file,
            **remarks(view),
            **({"note": note} if note else {}),
            "wake": told,
        }
        if not said:
            lines += [f"Task ID: {view.id}", what, f"Status: {claude(view).capitalize()}"]
            lines.append(facts.get("approval", ""))
        return reply([view], [*lines, f"Output: {view.latest.output_file}", note, told], facts)

    async def _output(self, context: ToolContext, view: View) -> Reply:
        shown, now = await context.result(view), context.engine.now()
        status, time, code = claude(view), elapsed(view, now), claude_exit_code(view)
        found = remarks(view)
        facts: dict[str, Any] = {"success": True, "task_id": view.id, "status": status, "output": shown.text}
        if code is not None:
            facts["exit_code"] = code
        if time is not None:
            facts["elapsed_ms"] = time // timedelta(milliseconds=1)
        facts |= {"truncated": shown.is_cut, **found}
        since = f" ({spoken(time)} elapsed)" if view.is_live and time is not None else ""
        lines = [
            "Task Completed" if status == "completed" else "Task Status",
            f"Task ID: {view.id}",
            f"Status: {status.capitalize()}{since}",
            f"Exit Code: {code}" if code is not None else "",
            found.get("approval", ""),
            f"Error: {found['error']}" if "error" in found else "",
            f"Progress: {found['progress']['percent']}%" if "progress" in found else "",
            f"Duration: {spoken(time)}" if time is not None and not view.is_live else "",
            f"Summary: {found['summary']}" if "summary" in found else "",
        ]
        if shown.text:
            lines.append("Recent Output:" if view.is_live else "Output:")
        return reply([view], [*lines, shown.text], facts)


def listed(views: Sequence[View], now: datetime) -> list[str]:
    wide = max(15, *(len(view.id) for view in views))
    return [_listed(view, wide, now) for view in views]


def _listed(view: View, wide: int, now: datetime) -> str:
    time = elapsed(view, now)
    words = pad(one_line(view.description, 30), 32)
    return f"{ICONS[claude(view)]} {pad(view.id, wide)} {words} {'-' if time is None else spoken(time)}"


def _facts(view: View) -> dict[str, Any]:
    run = view.latest
    facts = {
        "id": view.id,
        "type": claude_type(view),
        "description": one_line(view.description),
        "status": claude(view),
        "started_at": plain_value(run.started_at),
        "completed_at": plain_value(run.completed_at),
        "output_file": run.output_file,
        "exit_code": claude_exit_code(view),
        **remarks(view),
        "metadata": _metadata(view),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _metadata(view: View) -> dict[str, str] | None:
    """Return what an agent was asked, as Claude Code records it."""
    if view.agent is None:
        return None
    return {"subagentType": view.agent.name.rpartition("/")[2], "prompt": one_line(view.command, 1000)}
