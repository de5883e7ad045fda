"""The dialect of OpenCode's background agents: `background_task` and what belongs to it.

Replies are texts; `(resumed)` and `(forked)` follow the id.
"""

from __future__ import annotations

from typing import Any

from errands.dialects.arguments import milliseconds, offered, schema, task_id, text
from errands.dialects.base import BaseDialect, left_out, reply
from errands.dialects.completion import approval, wake
from errands.dialects.output_text import elapsed, error_text, one_line
from errands.dialects.projections import opencode
from errands.dialects.tool_context import ToolContext
from errands.model.agent.session import TOO_SOON
from errands.model.errors import NotResumable
from errands.model.text.duration import spoken
from errands.model.view import View
from errands.ports.dialect import Reply, Tool
from errands.ports.schema import flag, integer

LISTED = 50  # tasks in one list
NOTHING = "No background tasks found"
EXCLUSIVE = (
    "fork and resume are mutually exclusive: a fork is a new task on a copy of this conversation, "
    "a resume continues an earlier task; give one of them"
)
_WAIT = "longest wait in ms, with block"


class OpenCode(BaseDialect):
    name = "opencode"
    ask_with = "background_output"
    all_tools = (
        Tool(
            name="background_task",
            description="Launch an agent in the background. Returns a task id at once. With resume, send a "
            "completed task a follow-up prompt; its agent remembers the conversation. {end}\n"
            'Example: {"description": "Find dead code", "prompt": "List unused functions under src/", '
            '"agent": "general"}',
            parameters=schema(
                "prompt",
                description=text(
                    "short description of the task (default: the beginning of the prompt)", longest=1000
                ),
                prompt=text("what the agent should do"),
                agent=text("which agent (default: general, or the configured one)", longest=200),
                fork=flag("start with a copy of this conversation", default=False),
                resume=task_id("completed task to continue; then give only this and prompt"),
                timeout=integer("stop the agent after this time, ms (default: never)", minimum=1),
                **offered("allow", "allow_tools"),
            ),
        ),
        Tool(
            name="background_shell",
            description="Run a shell command in the background. Returns a task id at once; read what it "
            "printed with background_output. Use it for tests, builds, servers and everything slow. {end}\n"
            'Example: {"command": "make test", "description": "Run all tests"}',
            parameters=schema(
                "command",
                command=text("shell line"),
                description=text("short description of the task", longest=1000),
                workdir=text("where to run it (default: the project)", longest=4096),
                timeout=integer("stop it after this time, ms (default: never)", minimum=1),
            ),
            may_need_approval=True,
        ),
        Tool(
            name="background_output",
            description="Get the status of a background task and, once it has completed, its result. "
            'Example: {"task_id": "find-dead-code-7k2m4x", "block": true}',
            parameters=schema(
                "task_id",
                task_id=task_id(),
                block=flag("wait until it ends", default=False),
                timeout=milliseconds(_WAIT, default=60_000),
            ),
            reads_only=True,
        ),
        Tool(
            name="background_list",
            description="List the background tasks of this session, newest first.",
            parameters=schema(batch_id=text("only those of one batch", longest=1000)),
            reads_only=True,
        ),
        Tool(
            name="background_cancel",
            description='Cancel a running task, or a batch. Example: {"task_id": "find-dead-code-7k2m4x"}',
            parameters=schema(task_id=task_id(), batch_id=text("all of a batch", longest=1000)),
            destructive=True,
        ),
        Tool(
            name="background_clear",
            description="Remove finished tasks with their results: one, a batch or, without arguments, all "
            "of this session. Running tasks stay.",
            parameters=schema(task_id=task_id(), batch_id=text("all of a batch", longest=1000)),
            destructive=True,
        ),
        Tool(
            name="background_resume",
            description="Send a follow-up message to a completed task. {end}\n"
            'Example: {"task_id": "find-dead-code-7k2m4x", "message": "And in tests/?"}',
            parameters=schema(
                "task_id",
                "message",
                task_id=task_id(),
                message=text("follow-up prompt"),
                block=flag("wait for the response", default=False),
                timeout=milliseconds(_WAIT, default=60_000),
            ),
        ),
    )

    async def background_task(
        self,
        context: ToolContext,
        *,
        prompt: str,
        fork: bool = False,
        description: str | None = None,
        agent: str | None = None,
        resume: str | None = None,
        timeout: float | None = None,
        **grants: Any,
    ) -> Reply:
        if resume is not None:
            if fork:
                return self.refused(EXCLUSIVE, {})
            if description is not None or agent is not None or timeout is not None or grants:
                return self.refused(
                    "resume continues a task as it is; give resume and prompt, and nothing else", {}
                )
            return await self.background_resume(context, task_id=resume, message=prompt)
        description = description or one_line(prompt, 60)
        chosen, note = context.agent(agent)
        view = await context.ask(
            prompt,
            name=one_line(description, 60),
            description=description,
            agent=chosen,
            model=context.caller.model if chosen in context.caller.agents.values() else None,
            fork=context.caller.conversation if fork else None,
            timeout=None if timeout is None else timeout / 1000,
            **grants,
        )
        return self._launched(context, view, "Background task launched.", note)

    async def background_shell(
        self,
        context: ToolContext,
        *,
        command: str,
        description: str | None = None,
        workdir: str | None = None,
        timeout: float | None = None,
    ) -> Reply:
        view = await context.submit(
            command,
            cwd=context.directory(workdir),
            description=description,
            name=None if description is None else one_line(description, 60),
            timeout=None if timeout is None else timeout / 1000,
        )
        return self._launched(context, view, "Background command launched.")

    async def background_resume(
        self, context: ToolContext, *, task_id: str, message: str, block: bool = False, timeout: float = 0
    ) -> Reply:
        view = await context.find(task_id)
        try:
            resumed = await context.engine.resume(view.id, message, is_awaited=block)
        except NotResumable as error:
            if str(error) == TOO_SOON:
                raise
            said = f"Cannot resume task: status is '{opencode(view)}'. Only completed tasks can be resumed."
            return self.refused(said, {})
        if not block:
            return self._launched(context, resumed, "Background task resumed.")
        resumed = await context.wait_or_background(resumed, timeout)
        if resumed.is_live:
            return self._launched(context, resumed, "The response is not there yet.")
        if opencode(resumed) != "completed":
            return await self._shown(context, resumed)
        # Only the response: a caller that blocks has the rest already.
        return reply([resumed], [(await context.result(resumed)).text or "(no output)"])

    async def background_output(
        self, context: ToolContext, *, task_id: str, block: bool, timeout: float
    ) -> Reply:
        view = await context.find(task_id)
        if block and view.is_live:
            view = await context.wait(view, timeout)
        return await self._shown(context, view)

    async def background_list(self, context: ToolContext, *, batch_id: str | None = None) -> Reply:
        views = await context.tasks(batch=batch_id)
        if not views:
            return Reply(text=NOTHING)
        return reply(views[:LISTED], [listed(view) for view in views[:LISTED]] + left_out(views, LISTED))

    async def background_cancel(
        self, context: ToolContext, *, task_id: str | None = None, batch_id: str | None = None
    ) -> Reply:
        if (task_id is None) == (batch_id is None):
            return self.refused("Invalid arguments for background_cancel: give task_id or batch_id", {})
        found = await context.own_tasks(batch=batch_id) if task_id is None else [await context.find(task_id)]
        live = [view for view in found if view.is_open]
        if not live:
            if task_id is None:
                return self.refused(NOTHING, {})
            return self.refused(f"Task {found[0].id} is not running (status: {opencode(found[0])}).", {})
        views = await context.cancel(*live)
        lines = [f"Task {_name(view)}: {opencode(view)}" for view in views[:LISTED]]
        if len(views) > LISTED:
            lines.append(f"[{len(views) - LISTED} others too]")
        return reply(views, lines)

    async def background_clear(
        self, context: ToolContext, *, task_id: str | None = None, batch_id: str | None = None
    ) -> Reply:
        if task_id is not None:
            if batch_id is not None:
                return self.refused("Invalid arguments for background_clear: give task_id or batch_id", {})
            cleared = await context.engine.clear((await context.find(task_id)).id)
            return Reply(text=f"Cleared: {_some(cleared)}", tasks=tuple(cleared))
        views = await context.own_tasks(batch=batch_id)
        kept = [view.id for view in views if view.is_open]
        cleared = await context.engine.clear(*(view.id for view in views if not view.is_open))
        if not views:
            return Reply(text=NOTHING)
        lines = [f"Cleared: {_some(cleared)}" if cleared else "Nothing was finished."]
        lines += [f"Still running, so not cleared: {_some(kept)}"] if kept else []
        return Reply(text="\n".join(lines), tasks=tuple(cleared))

    def _launched(self, context: ToolContext, view: View, begin: str, note: str = "") -> Reply:
        begin = "Not started yet." if view.state == "proposed" else begin
        lines = [begin, f"Task ID: {_name(view)}", *_about(view), note, approval(view)]
        return reply([view], [*lines, wake(view, context.caller, f"{self.ask_with}(task_id={view.id})")])

    async def _shown(self, context: ToolContext, view: View) -> Reply:
        shown = await context.result(view)
        lines = [f"Task ID: {_name(view)}", *_about(view), *_times(context, view)]
        lines.append(approval(view))
        if why := error_text(view):
            lines.append(f"Error: {why}")
        if shown.text:
            lines.append("Result:" if opencode(view) == "completed" else "Output:")
        elif not view.is_live:
            lines.append("(no output)")
        return reply([view], [*lines, shown.text])


def _some(ids: list[str]) -> str:
    """Name the first tasks."""
    more = f" and {len(ids) - LISTED} more" if len(ids) > LISTED else ""
    return ", ".join(ids[:LISTED]) + more


def _name(view: View) -> str:
    return f"{view.id} {view.marks}".rstrip()


def _about(view: View) -> list[str]:
    lines = [f"Description: {one_line(view.description)}"]
    if view.agent is not None:
        lines.append(f"Agent: {view.agent.name.removeprefix('opencode/')}")
    if view.standing is not None:
        lines.append(f"Schedule: {one_line(view.standing.rule)}")
    if view.batch is not None:
        lines.append(f"Batch ID: {one_line(view.batch)}")
    return [*lines, f"Status: {opencode(view)}{_waits(view)}"]


def _times(context: ToolContext, view: View) -> list[str]:
    """Return how long it took, or what its agent is doing."""
    run, agent = view.latest, view.agent
    lines = []
    if (time := elapsed(view, context.engine.now())) is not None:
        lines.append(f"{'Running for' if view.is_live else 'Duration'}: {spoken(time)}")
    if agent is not None and view.is_live:
        lines.append(f"Tool calls: {agent.tool_calls}")
        if agent.tools:
            lines.append(f"Recent tools: {', '.join(one_line(each, 60) for each in agent.tools)}")
        if agent.activity_at is not None:
            lines.append(f"Last update: {agent.activity_at.isoformat(timespec='seconds')}")
    if run.completed_at is not None:
        lines.append(f"Completed at: {run.completed_at.isoformat(timespec='seconds')}")
    if agent is not None and agent.resume_count:
        lines.append(f"Resume count: {agent.resume_count}")
    return lines


def listed(view: View) -> str:
    return f"{_name(view)} - {opencode(view)}{_waits(view)} - {one_line(view.description, 80)}"


def _waits(view: View) -> str:
    """Return what a task that counts as running waits for."""
    if view.state == "proposed":
        return " (awaiting approval)"
    if view.latest.state == "pending" and view.is_live and not view.is_resumed:
        return " (queued)"
    if view.standing is None or view.is_live or not view.is_open:
        return ""
    return " (paused)" if view.state == "paused" else " (awaiting its next run)"
