"""The dialect of co: four tools, each returning a dict with a `display` for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from errands.dialects.arguments import schema, task_id, text
from errands.dialects.base import BaseDialect, left_out
from errands.dialects.completion import remarks, wake
from errands.dialects.output_text import elapsed, one_line
from errands.dialects.projections import CO, co, co_exit_code
from errands.dialects.tool_context import ToolContext
from errands.model.approval import BY_JUDGE, BY_MODE
from errands.model.text.duration import spoken
from errands.model.view import View, as_json, plain_value
from errands.ports.dialect import Reply, Tool
from errands.ports.schema import flag
from errands.text import clip, pad

LISTED = 50  # tasks in one list
RECENT = 20  # lines of output
NOTHING = "No background tasks."
COLUMNS = (("ID", 32), ("Status", 11), ("Started", 19), ("Duration", 9), ("Description", 24))
_ID = "Task ID"


class Co(BaseDialect):
    name = "co"
    ask_with = "check_task_status"
    all_tools = (
        Tool(
            name="start_background_task",
            description="Start a long-running command in background. {end}\n"
            'Example: {"command": "uv run pytest", "description": "Run full test suite"}',
            parameters=schema(
                "command",
                "description",
                command=text('Shell command to execute (e.g., "uv run pytest")'),
                description=text("Human-readable task description", longest=1000),
                working_directory=text("Working directory (defaults to current)", longest=4096),
            ),
            may_need_approval=True,
        ),
        Tool(
            name="check_task_status",
            description="Check status of a background task. "
            'Example: {"task_id": "pytest-7k2m4x", "include_output": true}',
            parameters=schema(
                "task_id",
                task_id=task_id(_ID),
                include_output=flag("Include recent output lines (last 20)", default=True),
            ),
            reads_only=True,
        ),
        Tool(
            name="cancel_background_task",
            description='Cancel a running background task. Example: {"task_id": "pytest-7k2m4x"}',
            parameters=schema("task_id", task_id=task_id(_ID)),
            destructive=True,
        ),
        Tool(
            name="list_background_tasks",
            description='List all background tasks. Example: {"status_filter": "running"}',
            parameters=schema(
                status_filter=text(f"Filter by status ({'|'.join(CO)})", longest=20, enum=list(CO))
            ),
            reads_only=True,
        ),
    )

    async def start_background_task(
        self, context: ToolContext, *, command: str, description: str, working_directory: str | None = None
    ) -> Reply:
        view = await context.submit(
            command, description=description, cwd=context.directory(working_directory)
        )
        view = await context.started(view)
        found = remarks(view)
        lines = [f"Started background task {view.id}: {one_line(description)}"]
        if view.state == "proposed":
            lines = [
                f"Background task {view.id}: {one_line(description)}",
                "Command requires approval:",
                f"  {one_line(command, 1000)}",
                found["approval"],
            ]
        told = wake(view, context.caller, f"check_task_status(task_id={view.id})")
        lines += [f"Check status: /status {view.id}", told]
        # A short command may have ended by now, but it did run when it was started.
        status = co(view) if view.latest.started_at is None else "running"
        return _reply([view], lines, task_id=view.id, status=status, **found, wake=told)

    async def check_task_status(self, context: ToolContext, *, task_id: str, include_output: bool) -> Reply:
        view = await context.engine.get((await context.find(task_id)).id)
        run, time = view.latest, elapsed(view, context.engine.now())
        span = str(as_json(view)["span_id"] or "")
        facts: dict[str, Any] = {
            "task_id": view.id,
            "status": co(view),
            "duration_seconds": None if time is None else round(time.total_seconds(), 3),
            "exit_code": co_exit_code(view),
            "completed_at": plain_value(run.completed_at),
            # Both streams are captured as one, in order, and counted as one.
            "stdout_lines": run.lines,
            "stderr_lines": 0,
            "span_id": span or None,
            "metadata": _metadata(view),
            **remarks(view),
        }
        lines = [f"Task: {view.id}", f"Status: {co(view)}"]
        if time is not None:
            lines.append(f"Duration: {spoken(time)}")
        if facts["exit_code"] is not None:
            lines.append(f"Exit code: {facts['exit_code']}")
        lines += _remarks(facts)
        if include_output:
            shown = await context.tail(view, RECENT)
            facts["output"] = shown.text
            lines += ["", "Recent output:", shown.text or "(none)"]
        lines += ["", f"Full output: {run.output_file}"]
        lines += [f"Trace: errands trace --span {span}"] if span else []
        return _reply([view], lines, **facts)

    async def cancel_background_task(self, context: ToolContext, *, task_id: str) -> Reply:
        view = await context.find(task_id)
        if not view.is_open:
            why = f"Task {view.id} is not running (status: {co(view)})."
            return _reply([view], [why], failed=True, task_id=view.id, status=co(view))
        (view,) = await context.cancel(view)
        done = f"Task {view.id} {co(view)}." if not view.is_open else f"Cancelling task {view.id}..."
        return _reply([view], [done], task_id=view.id, status=co(view))

    async def list_background_tasks(self, context: ToolContext, *, status_filter: str | None = None) -> Reply:
        views = [view for view in await context.tasks() if status_filter in (None, co(view))]
        now = context.engine.now()
        lines = [*table(views[:LISTED], now), *left_out(views, LISTED)] if views else [NOTHING]
        return _reply(
            views[:LISTED], lines, tasks=[_facts(view, now) for view in views[:LISTED]], count=len(views)
        )

    def missing(self, task_id: str) -> Reply:
        said = f"Task {task_id} not found."
        return Reply(text=said, content={"task_id": task_id, "status": None, "display": said}, failed=True)

    def declined(self, view: View, why: str) -> Reply:
        return _reply([view], [why], failed=True, task_id=view.id, status=co(view), error=why)

    def refused(self, why: str, given: Mapping[str, Any]) -> Reply:
        return Reply(text=why, content={"display": why}, failed=True)


def _reply(views: Sequence[View], lines: list[str], *, failed: bool = False, **facts: Any) -> Reply:
    display = "\n".join(each.removesuffix("\n") for each in lines)
    return Reply(
        text=display,
        content={**facts, "display": display},
        failed=failed,
        tasks=tuple(view.id for view in views),
        proposed=tuple(view.id for view in views if view.state == "proposed"),
    )


def _remarks(facts: Mapping[str, Any]) -> list[str]:
    """Return the optional lines: what it waits for, its progress, why it failed, how its tests went."""
    lines = [facts["approval"]] if "approval" in facts else []
    if progress := facts.get("progress"):
        count = f"{progress['done']}/{progress['total']} " if progress["total"] else ""
        lines.append(f"Progress: {count}({progress['percent']}%)")
    if "error" in facts:
        lines.append(f"Error: {facts['error']}")
    if "summary" in facts:
        lines.append(f"Summary: {facts['summary']}")
    return lines


def table(views: Sequence[View], now: datetime) -> list[str]:
    """Lay out tasks as `/tasks` does, with local times."""
    lines = [_row([title for title, _ in COLUMNS]), _row(["─" * width for _, width in COLUMNS])]
    for view in views:
        started, time = view.latest.started_at, elapsed(view, now)
        lines.append(
            _row([
                view.id,
                co(view),
                "-" if started is None else f"{started.astimezone():%Y-%m-%d %H:%M:%S}",
                "-" if time is None else spoken(time),
                one_line(view.description, 80),
            ])
        )  # fmt: skip
    return lines


def _row(cells: list[str]) -> str:
    return " ".join(pad(cell, width) for cell, (_, width) in zip(cells, COLUMNS, strict=True)).rstrip()


def _facts(view: View, now: datetime) -> dict[str, Any]:
    time = elapsed(view, now)
    return {
        "task_id": view.id,
        "status": co(view),
        "duration": None if time is None else round(time.total_seconds(), 3),
        "description": clip(one_line(view.description), 200),
        "started_at": plain_value(view.latest.started_at),
        "exit_code": co_exit_code(view),
        **remarks(view),
    }


def _metadata(view: View) -> dict[str, Any]:
    """Return what co keeps about a task, with the names of its file."""
    flat = as_json(view)
    names = ("created_at", "started_at", "completed_at", "cwd", "pid", "span_id", "approved_at")
    who = view.approved_by
    return {
        "task_id": view.id,
        **{name: flat[name] for name in names},
        "status": co(view),
        "command": flat.get("commands") or [flat["prompt"]],
        "env": flat.get("env", {}),
        "description": one_line(view.description),
        "exit_code": co_exit_code(view),
        "approved_by": "auto" if who in (BY_JUDGE, BY_MODE) else who and "user",
    }
