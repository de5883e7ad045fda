"""The native dialect, for callers that know no other: few tools, short replies."""

from __future__ import annotations

from errands.dialects.arguments import flag, milliseconds, number, offered, schema, task_id, text
from errands.dialects.base import BaseDialect, left_out, reply
from errands.dialects.completion import approval, wake, wake_line
from errands.dialects.output_text import bounded, elapsed, error_text, one_line, paged, summary
from errands.dialects.tool_context import SHOWN
from errands.model.states import ENDED, OPEN, STANDING
from errands.model.text.duration import spoken as spoken_duration
from errands.model.text.sanitise import visible
from errands.model.view import as_json
from errands.ports.dialect import Reply, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from errands.dialects.tool_context import ToolContext
    from errands.model.view import View

LISTED = 50  # tasks in one list
_STATES = (*OPEN, *STANDING, *ENDED, "done")
_ID = "id of the task, as `run`, `ask` or `list` gave it"
_WAIT = "milliseconds to wait for its end"


class Native(BaseDialect):
    name = "native"
    ask_with = "wait"
    all_tools = (
        Tool(
            name="run",
            description="Run a shell command in the background, for whatever takes more than a few seconds: "
            "tests, builds, downloads. Returns a task id at once; with `wait` the result, if it is there in "
            "time, and the command goes on if not. {end}\n"
            'Example: {"command": "make test", "name": "tests"}',
            parameters=schema(
                "command",
                command=text("shell line"),
                **offered("name", "cwd", "after", "retries"),
                wait=milliseconds(_WAIT, default=0),
            ),
            may_need_approval=True,
        ),
        Tool(
            name="ask",
            description="Have an agent work on a prompt in the background. It knows nothing of this "
            "conversation unless you say `fork`. With `resume`, send a completed task a follow-up. {end}\n"
            'Example: {"prompt": "find dead code under src/ and list it", "name": "dead code"}',
            parameters=schema(
                "prompt",
                prompt=text("what to do, complete in itself"),
                **offered("name", "agent"),
                fork=flag("begin with a copy of this conversation", default=False),
                resume=task_id("id of a completed task of `ask` to go on with"),
                wait=milliseconds(_WAIT, default=0),
            ),
        ),
        Tool(
            name="list",
            description="List your tasks, newest first, also those from before you forgot. "
            'Example: {"state": "running"}',
            parameters=schema(state=text("only these", longest=20, enum=list(_STATES))),
            reads_only=True,
        ),
        Tool(
            name="show",
            description='Show one task: its state and its last lines. Example: {"id": "tests-7k2m4x"}',
            parameters=schema("id", id=task_id(_ID)),
            reads_only=True,
        ),
        Tool(
            name="output",
            description="Read what a task printed, or an agent's answer. A long one comes in pages: go on at "
            'the offset that the reply names. Example: {"id": "tests-7k2m4x"}',
            parameters=schema(
                "id", id=task_id(_ID), offset=number("byte to begin at; leave out for an overview", minimum=0)
            ),
            reads_only=True,
        ),
        Tool(
            name="wait",
            description="Wait until a task ends, and get its result; after the time-out, what there is. "
            'Example: {"id": "tests-7k2m4x", "timeout": 60000}',
            parameters=schema("id", id=task_id(_ID), timeout=milliseconds("milliseconds", default=30_000)),
            reads_only=True,
        ),
        Tool(
            name="cancel",
            description='End a task and all its processes. Example: {"id": "tests-7k2m4x"}',
            parameters=schema("id", id=task_id(_ID)),
            destructive=True,
        ),
    )

    async def run(
        self,
        context: ToolContext,
        *,
        command: str,
        wait: float,
        name: str | None = None,
        cwd: str | None = None,
        after: tuple[str, ...] = (),
        retries: int | None = None,
    ) -> Reply:
        first = [(await context.find(each)).id for each in after]
        cwd = context.directory(cwd)
        options = context.options(name=name, cwd=cwd, after=first or None, retries=retries)
        return await self._launched(context, await context.engine.submit(command, **options), wait)

    async def ask(
        self,
        context: ToolContext,
        *,
        prompt: str,
        wait: float,
        fork: bool = False,
        name: str | None = None,
        agent: str | None = None,
        resume: str | None = None,
    ) -> Reply:
        is_awaited = wait > 0
        if resume is not None:
            if fork or agent or name:
                return self.refused("resume goes on with a task as it is; leave out fork, agent and name", {})
            earlier = await context.find(resume)
            return await self._launched(
                context, await context.engine.resume(earlier.id, prompt, is_awaited=is_awaited), wait
            )
        options = context.options(name=name, agent=agent, fork=context.caller.conversation if fork else None)
        view = await context.engine.ask(prompt, is_awaited=is_awaited, **options)
        return await self._launched(context, view, wait)

    async def list(self, context: ToolContext, *, state: str | None = None) -> Reply:
        views = await context.tasks(states=() if state is None else (state,))
        lines = [listed(view, context.engine.now()) for view in views[:LISTED]]
        lines += left_out(views, LISTED, "; ask for one `state`")
        return Reply(
            text="\n".join(lines) or "There are no tasks.",
            content={"tasks": [_facts(view) for view in views[:LISTED]], "count": len(views)},
            tasks=tuple(view.id for view in views[:LISTED]),
        )

    async def show(self, context: ToolContext, *, id: str) -> Reply:
        view = await context.find(id)
        shown = await context.tail(view, 20)
        return _reply(view, [listed(view, context.engine.now()), *_more(view), shown.text])

    async def output(self, context: ToolContext, *, id: str, offset: int | None = None) -> Reply:
        view = await context.find(id)
        if offset is None:
            shown = await context.result(view)
            lines = [listed(view, context.engine.now()), *_more(view), shown.text or "(no output)"]
            return _reply(view, lines, output=shown.text)
        await context.engine.mark_retrieved(view)
        piece = await context.engine.output(view.id, offset=offset, limit=SHOWN)
        content, beyond = paged(piece, SHOWN, is_live=view.is_live)
        clean = await context.engine.masked(view.id, visible(content))
        shown = bounded(clean, None, rest="", label=f"output of {view.id}")
        gap = f"[{piece.missing:,} bytes before this were not kept]" if piece.missing else ""
        on = f"next offset: {beyond}" + ("" if view.is_live or content else " (the end)")
        return _reply(view, [gap, shown.text or "(nothing more)", on], output=shown.text, next_offset=beyond)

    async def wait(self, context: ToolContext, *, id: str, timeout: float) -> Reply:
        return await self._ended(context, await context.wait(await context.find(id), timeout))

    async def cancel(self, context: ToolContext, *, id: str) -> Reply:
        view = await context.find(id)
        if not view.is_open:
            return _reply(view, [f"Task {view.id} is {view.state} already."])
        (view,) = await context.cancel(view)
        return _reply(view, [f"Task {view.id} is {view.state}."])

    async def _launched(self, context: ToolContext, view: View, wait: float) -> Reply:
        if wait:
            view = await context.wait_or_background(view, wait)
            if not view.is_live:
                return await self._ended(context, view)
        ask_with = f'{self.ask_with} {{"id": "{view.id}"}}'
        lines = [f"Task {view.id} is {view.state}.", approval(view)]
        said = wake(view, context.caller, ask_with)
        return _reply(view, [*lines, wake_line(view, context.caller, ask_with)], wake=said)

    async def _ended(self, context: ToolContext, view: View) -> Reply:
        shown = await context.result(view)
        return _reply(view, [listed(view, context.engine.now()), *_more(view), shown.text], output=shown.text)


def _reply(view: View, lines: list[str], **more: Any) -> Reply:
    return reply([view], lines, {**_facts(view), **more})


def listed(view: View, now: datetime) -> str:
    """Return a task in one line."""
    run = view.latest
    words = [view.id, view.marks, view.state]
    if view.standing is not None:
        words.append(f"[{one_line(view.standing.rule, 80)}]")
        words.append(f"last run: {run.state}" if run.number else "")
    if (time := elapsed(view, now)) is not None:
        words.append(spoken_duration(time))
    if run.exit_code:
        words.append(f"exit code {run.exit_code}")
    words.append(f"({one_line(view.description, 80)})")
    if said := summary(view):
        words.append(f"- {said}")
    return " ".join(filter(None, words))


def _more(view: View) -> list[str]:
    why = error_text(view)
    lines = [approval(view), f"error: {why}" if why else ""]
    return lines if view.progress is None else [*lines, f"progress: {view.progress.percent:.0f}%"]


def _facts(view: View) -> dict[str, Any]:
    """Return what programs may rely on, with the names of `--json`."""
    names: tuple[str, ...] = (
        "id", "kind", "state", "description", "created_at", "started_at", "completed_at", "exit_code",
        "duration", "truncated", "output_file",
    )  # fmt: skip
    if view.standing is not None:
        names = (*names, "schedule", "next_run_at", "run_count", "run_state")
    flat = as_json(view)
    flat["description"] = one_line(view.description)
    return {name: flat[name] for name in names if flat[name] not in (None, "")}
