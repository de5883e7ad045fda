"""The dialect of egirl: tasks that an agent adds, proposes, lists, pauses, cancels and runs now."""

from __future__ import annotations

from typing import Any

from errands.dialects.arguments import offered, schema, settings, task_id, text
from errands.dialects.base import BaseDialect, left_out, reply
from errands.dialects.completion import approval, wake
from errands.dialects.egirl_words import KINDS, drafted, facts, listed
from errands.dialects.output_text import one_line
from errands.dialects.projections import EGIRL, egirl
from errands.dialects.tool_context import Missing, ToolContext
from errands.model.errors import BadValue
from errands.model.notices.notice import POLICIES
from errands.model.view import View
from errands.ports.dialect import Reply, Tool
from errands.ports.schema import integer

LISTED = 20  # tasks in one list, as many as may be active
RESULT = 500  # characters of each result in a list
NOTHING = "No tasks."
_ID = "id of the task"
_NEW = {
    "name": text("short name, such as watch-deploy", longest=200),
    "description": text("one sentence", longest=1000),
    "prompt": text("what the agent should do each run"),
    "kind": text("scheduled needs interval or cron, event needs event_source", longest=20, enum=list(KINDS)),
    "interval": text("for scheduled: 30m, 2h, 1d", longest=100),
    "cron": text("for scheduled, instead: five fields, such as 0 9 * * 1-5", longest=200),
    "event_source": text("for event: github, file or command", longest=100),
    "event_config": settings(
        'for event: {"path": "src/**/*.py"} of a file, {"repository": "owner/name"} of github, {"command": '
        '"git rev-parse HEAD"} of a command whose result is watched'
    ),
    "notify": text("when to report", longest=20, enum=list(POLICIES), default="on_change"),
    "max_runs": integer("end the task after this many runs (default: never)", minimum=1),
    "channel": text("where to report: discord or cli (default: this conversation)", longest=100),
    "channel_target": text("channel or user id, or stdout", longest=1000),
    **offered("timeout", "allow", "allow_tools"),
}
_NEEDED = ("name", "description", "prompt", "kind")


class Egirl(BaseDialect):
    name = "egirl"
    ask_with = "task_list"
    all_tools = (
        Tool(
            name="task_add",
            description="Create a background task that the user asked for; it is active at once. {end}\n"
            'Example: {"name": "watch-ci-main", "description": "Monitor CI of main", "prompt": "Run `gh run '
            'list --branch main --limit 5` and report what failed.", "kind": "scheduled", "interval": "30m"}',
            parameters=schema(*_NEEDED, **_NEW),
            may_need_approval=True,
        ),
        Tool(
            name="task_propose",
            description="Propose a background task that the user did not ask for. It does not run until a "
            "person approves it. {end}\n"
            'Example: {"name": "watch-deploy", "description": "Watch the deploy to staging", "prompt": "Run '
            '`kubectl rollout status deployment/app` and report.", "kind": "scheduled", "interval": "2m", '
            '"max_runs": 30}',
            parameters=schema(*_NEEDED, **_NEW),
            may_need_approval=True,
        ),
        Tool(
            name="task_list",
            description='List tasks by status, newest first. Example: {"status": "active"}',
            parameters=schema(status=text(longest=20, enum=list(EGIRL))),
            reads_only=True,
        ),
        Tool(
            name="task_pause",
            description="Pause a scheduled or event task; a run in progress continues. "
            'Example: {"task_id": "watch-ci-main-7k2m4x"}',
            parameters=schema("task_id", task_id=task_id(_ID)),
        ),
        Tool(
            name="task_resume",
            description='Resume a paused task. Example: {"task_id": "watch-ci-main-7k2m4x"}',
            parameters=schema("task_id", task_id=task_id(_ID)),
        ),
        Tool(
            name="task_cancel",
            description="Delete a task; a run in progress is stopped. "
            'Example: {"task_id": "watch-ci-main-7k2m4x"}',
            parameters=schema("task_id", task_id=task_id(_ID)),
            destructive=True,
        ),
        Tool(
            name="task_run_now",
            description="Run a task immediately, regardless of its schedule. {end} "
            'Example: {"task_id": "watch-ci-main-7k2m4x"}',
            parameters=schema("task_id", task_id=task_id(_ID)),
        ),
    )

    async def task_add(self, context: ToolContext, **given: Any) -> Reply:
        view = await self._made(context, propose=False, **given)
        return await self._reply(context, view, "Task added")

    async def task_propose(self, context: ToolContext, **given: Any) -> Reply:
        view = await self._made(context, propose=True, **given)
        return await self._reply(context, view, "Proposed task")

    async def task_list(self, context: ToolContext, *, status: str | None = None) -> Reply:
        views = [
            view
            for view in await context.tasks()
            if egirl(view) is not None and status in (None, egirl(view))
        ]
        shown = [await facts(context, view, RESULT) for view in views[:LISTED]]
        lines = []
        for view, each in zip(views, shown, strict=False):
            ran = each.get("last_run", {})
            lines += [listed(view), approval(view), ran.get("error") or "", ran.get("result") or ""]
        lines += left_out(views, LISTED)
        return reply(views[:LISTED], lines or [NOTHING], {"tasks": shown})

    async def task_pause(self, context: ToolContext, *, task_id: str) -> Reply:
        view = await self._recurring(context, task_id, "pause")
        view = await context.engine.pause(view.id, by=context.caller.actor)
        return await self._reply(context, view, "Task paused", says_wake=False)

    async def task_resume(self, context: ToolContext, *, task_id: str) -> Reply:
        view = await self._recurring(context, task_id, "resume")
        return await self._reply(context, await context.engine.unpause(view.id), "Task resumed")

    async def task_cancel(self, context: ToolContext, *, task_id: str) -> Reply:
        view = await self._found(context, task_id)
        if view.is_open:
            # A cancelled task is gone in this dialect; people still see what became of it.
            (view,) = await context.cancel(view)
        else:
            await context.engine.clear(view.id)
        done = f"Task {view.id} is about to end." if view.is_open else f"Task cancelled: {view.id}"
        return Reply(text=done, content={"id": view.id}, tasks=(view.id,))

    async def task_run_now(self, context: ToolContext, *, task_id: str) -> Reply:
        view = await self._found(context, task_id)
        if view.state == "proposed":
            raise BadValue(f"Task {view.id} is proposed. {approval(view)}")
        if view.is_live:
            waits = "is running already" if view.latest.state == "running" else "waits for its turn already"
            raise BadValue(f"Task {view.id} {waits}; just wait until it ends.")
        if view.standing is not None and not view.is_open:
            raise BadValue(f"Task {view.id} is {egirl(view)}, and will not run again. Add a new one.")
        run = context.engine.restart if view.standing is None else context.engine.fire
        return await self._reply(context, await run(view.id), "Task started")

    async def _found(self, context: ToolContext, task_id: str) -> View:
        view = await context.find(task_id)
        if egirl(view) is None:
            raise Missing(task_id)
        return view

    async def _recurring(self, context: ToolContext, task_id: str, what: str) -> View:
        """Find a task that can be paused and resumed."""
        view = await self._found(context, task_id)
        if view.standing is None:
            raise BadValue(f"Task {view.id} runs once, so you cannot {what} it; task_cancel ends it.")
        if view.state == "proposed":
            raise BadValue(f"Task {view.id} is proposed. {approval(view)}")
        if not view.is_open:
            raise BadValue(f"Task {view.id} is {egirl(view)}, so you cannot {what} it. Add a new one.")
        return view

    async def _made(
        self, context: ToolContext, *, propose: bool, name: str, description: str, prompt: str, **given: Any
    ) -> View:
        options = drafted(**given)
        if not propose and context.caller.run is None:
            # task_add is for what a person asked for; a run in the background talks to none.
            options["created_by"] = f"user ({context.caller.actor})"
        return await context.ask(prompt, name=name, description=description, propose=propose, **options)

    def declined(self, view: View, why: str) -> Reply:
        return reply([view], [why], {"id": view.id, "status": egirl(view), "error": why}, failed=True)

    async def _reply(self, context: ToolContext, view: View, what: str, *, says_wake: bool = True) -> Reply:
        told = wake(view, context.caller, self.ask_with) if says_wake else ""
        if view.state == "proposed":  # also what was to be added or started
            what = "Proposed task"
        lines = [
            f"{what}: {one_line(view.name)}",
            f"ID: {view.id}",
            f"Status: {egirl(view)}",
            f"Description: {one_line(view.description)}",
            "" if view.standing is None else f"Runs: {one_line(view.standing.rule)}",
            approval(view),
            told,
        ]
        more = {"wake": told} if told else {}
        return reply([view], lines, {**await facts(context, view, RESULT), **more})
