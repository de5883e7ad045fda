"""The native dialect, for callers that know no other: few tools, short replies."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from errands.dialects.arguments import milliseconds, offered, schema, task_id, text
from errands.dialects.base import BaseDialect, left_out, reply
from errands.dialects.completion import approval, remarks, wake
from errands.dialects.output_text import bounded, elapsed, one_line, paged, summary
from errands.dialects.tool_context import SHOWN, ToolContext
from errands.model.options.table import RECURRING
from errands.model.states import ENDED, OPEN, STANDING, predicate
from errands.model.text.duration import spoken as spoken_duration
from errands.model.view import View, as_json
from errands.ports.dialect import Reply, Tool
from errands.ports.schema import flag, integer
from errands.text.describe import lane_line, state_word

LISTED = 50  # tasks in one list
_NOTHING: tuple[Any, ...] = (None, "", [])
_STATES = (*OPEN, *STANDING, *ENDED, "done")
_ID = "id of the task, from `run`, `ask` or `tasks`"
_WAIT = "milliseconds to wait for its end"
_PROPOSE = "suggest it: it starts only when a person approves it, however harmless it is"
_BATCH = "all tasks of this batch"
_ACTIONS = ("pause", "unpause", "hold", "release", "first", "last")
_LANE = ("name", "width", "running", "pending")
# What both kinds of task can be asked for; the option table describes it.
_COMMON = ("name", "timeout", "batch", "every", "cron", "on", "notify")


def _as_in_run(*names: str) -> dict[str, Any]:
    """Offer options that `run` describes: every word of a list of tools costs each conversation."""
    return {name: {**each, "description": "as in `run`"} for name, each in offered(*names).items()}


class Native(BaseDialect):
    name = "native"
    ask_with = "wait"
    all_tools = (
        Tool(
            name="run",
            description="Run a shell command in the background, for whatever takes more than a few seconds: "
            "tests, builds, downloads. Returns a task id at once; with `wait` the result, if it is there in "
            "time, and the command continues if not. With every, cron or on it runs repeatedly. {end}\n"
            'Example: {"command": "make test", "name": "tests"}',
            parameters=schema(
                "command",
                command=text("shell line"),
                **offered(*_COMMON, "cwd", "env", "after", "retries"),
                propose=flag(_PROPOSE),
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
                prompt=text("what to do, with all it needs to know"),
                **offered(*_COMMON, "agent", "allow", "allow_tools"),
                propose=flag(_PROPOSE),
                fork=flag("begin with a copy of this conversation", default=False),
                resume=task_id("id of a completed task of `ask` to continue"),
                wait=milliseconds(_WAIT, default=0),
            ),
        ),
        Tool(
            name="tasks",
            description="List your tasks, newest first, even those you no longer remember. "
            'Example: {"state": "running"}',
            parameters=schema(
                state=text("only these", longest=20, enum=list(_STATES)),
                batch=text("only those of this batch", longest=200),
            ),
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
            description="Read what a task printed, or an agent's answer. A long one comes in pages: continue "
            'at the offset that the reply names. Example: {"id": "tests-7k2m4x"}',
            parameters=schema(
                "id",
                id=task_id(_ID),
                offset=integer("byte to begin at; without it, an overview", minimum=0),
            ),
            reads_only=True,
        ),
        Tool(
            name="wait",
            description="Wait until a task ends, or all tasks of a batch, and get the results, or what "
            'there is when the time is up. Example: {"id": "tests-7k2m4x", "timeout": 60000}',
            parameters=schema(
                id=task_id(_ID),
                batch=text(_BATCH, longest=200),
                timeout=milliseconds("milliseconds", default=30_000),
            ),
            reads_only=True,
        ),
        Tool(
            name="cancel",
            description='End a task and all its processes, or a batch. Example: {"id": "tests-7k2m4x"}',
            parameters=schema(id=task_id(_ID), batch=text(_BATCH, longest=200)),
            destructive=True,
        ),
        Tool(
            name="control",
            description="Change when a task runs: pause a running one (its processes are suspended) or a "
            "schedule, and unpause it; hold one that has not started, and release it; start it first or last "
            'in its lane. Example: {"id": "tests-7k2m4x", "action": "pause"}',
            parameters=schema(
                "id", "action", id=task_id(_ID), action=text("what to do", longest=20, enum=list(_ACTIONS))
            ),
        ),
        Tool(
            name="edit",
            description="Change a task that has not started, or a recurring one; what you leave out stays. "
            'It is judged again. Example: {"id": "tests-7k2m4x", "timeout": "1h"}',
            parameters=schema(
                "id",
                id=task_id(_ID),
                command=text("shell line"),
                prompt=text("what the agent should do, with all it needs to know"),
                **_as_in_run("name", "timeout", "batch", "every", "cron", "notify", "env", "retries"),
                lane=text("lane to queue in; `lanes` lists them", longest=80),
            ),
            may_need_approval=True,
        ),
        Tool(
            name="lanes",
            description="List the lanes: how many tasks of each run at once, how many run and wait.",
            parameters=schema(),
            reads_only=True,
        ),
    )

    async def run(
        self,
        context: ToolContext,
        *,
        command: str,
        wait: float,
        cwd: str | None = None,
        after: tuple[str, ...] = (),
        **given: Any,
    ) -> Reply:
        first = [(await context.find(each)).id for each in after]
        view = await context.submit(
            command,
            is_awaited=_is_awaited(wait, given),
            cwd=context.directory(cwd),
            after=first or None,
            **given,
        )
        return await self._launched(context, view, wait)

    async def ask(
        self,
        context: ToolContext,
        *,
        prompt: str,
        wait: float,
        fork: bool = False,
        resume: str | None = None,
        **given: Any,
    ) -> Reply:
        is_awaited = _is_awaited(wait, given)
        if resume is not None:
            if fork or given:
                others = ", ".join([*(["fork"] if fork else []), *given])
                return self.refused(f"resume continues a task as it is; leave out {others}", {})
            earlier = await context.find(resume)
            return await self._launched(
                context, await context.engine.resume(earlier.id, prompt, is_awaited=is_awaited), wait
            )
        history = context.caller.conversation if fork else None
        view = await context.ask(prompt, is_awaited=is_awaited, fork=history, **given)
        return await self._launched(context, view, wait)

    async def tasks(
        self, context: ToolContext, *, state: str | None = None, batch: str | None = None
    ) -> Reply:
        views = await context.tasks(states=() if state is None else (state,), batch=batch)
        shown = views[:LISTED]
        lines = [listed(view, context.engine.now()) for view in shown] or ["There are no tasks."]
        lines += left_out(views, LISTED, "; ask for one `state`")
        return reply(shown, lines, {"tasks": [_facts(view) for view in shown], "count": len(views)})

    async def show(self, context: ToolContext, *, id: str) -> Reply:
        view = await context.find(id)
        shown = await context.tail(view, 20)
        lines = [listed(view, context.engine.now()), *_more(view), shown.text]
        return _reply(view, lines, output=shown.text)

    async def output(self, context: ToolContext, *, id: str, offset: int | None = None) -> Reply:
        view = await context.find(id)
        if offset is None:
            return await self._ended(context, view, empty="(no output)")
        await context.engine.mark_retrieved(view)
        piece = await context.engine.output(view.id, offset=offset, limit=SHOWN)
        content, beyond = paged(piece, SHOWN, is_live=view.is_live)
        after = (piece.content + piece.after)[len(content) :]
        clean = (await context.engine.mask(view.id)).output(content, before=piece.before, after=after)
        shown = bounded(clean, None, rest="", label=f"output of {view.id}")
        gap = f"[{piece.missing:,} bytes before this were not kept]" if piece.missing else ""
        is_end = not view.is_live and not content
        lines = [
            gap,
            shown.text or "(nothing more)",
            f"next offset: {beyond}" + (" (the end)" if is_end else ""),
        ]
        more = {"next_offset": beyond, "is_end": is_end}
        if piece.missing:
            more["missing_bytes"] = piece.missing
        return _reply(view, lines, output=shown.text, **more)

    async def wait(
        self, context: ToolContext, *, timeout: float, id: str | None = None, batch: str | None = None
    ) -> Reply:
        if (id is None) == (batch is None):
            return self.refused("Invalid arguments for wait: give id or batch", {})
        if id is not None:
            return await self._ended(context, await context.wait(await context.find(id), timeout))
        views = await context.tasks(batch=batch)
        if not views:
            return self.refused("No task belongs to this batch.", {})
        # All at once: each wait gives up by itself, and the time-out is for all of them.
        ended = await asyncio.gather(*(context.wait(view, timeout) for view in views[:LISTED]))
        shown = [await self._ended(context, view) for view in ended]
        live = sum(view.is_live for view in ended)
        lines = [f"{live} of {len(ended)} are still live." if live else "", *(each.text for each in shown)]
        facts = {"tasks": [each.content for each in shown], "count": len(views), "live": live}
        return reply(ended, [*lines, *left_out(views, LISTED)], facts)

    async def cancel(self, context: ToolContext, *, id: str | None = None, batch: str | None = None) -> Reply:
        if (id is None) == (batch is None):
            return self.refused("Invalid arguments for cancel: give id or batch", {})
        if id is None:
            live = [view for view in await context.own_tasks(batch=batch) if view.is_open]
            if not live:
                return self.refused("Nothing of this batch is live.", {})
            ended = await context.cancel(*live)
            lines = [f"Task {view.id} {predicate(view.state)}." for view in ended]
            return reply(ended, lines, {"tasks": [_facts(view) for view in ended], "count": len(ended)})
        view = await context.find(id)
        if not view.is_open:
            return _reply(view, [f"Task {view.id} {predicate(view.state)} already."])
        (view,) = await context.cancel(view)
        return _reply(view, [f"Task {view.id} is {view.state}."])

    async def control(self, context: ToolContext, *, id: str, action: str) -> Reply:
        view = await context.control(await context.find(id), action)
        return _reply(view, [f"Task {view.id} is {state_word(view)}.", _place(view, action)])

    async def edit(self, context: ToolContext, *, id: str, **changes: Any) -> Reply:
        view = await context.edit(await context.find(id), **changes)
        return _reply(
            view, [f"Task {view.id} is {state_word(view)}: {one_line(view.command)}", approval(view)]
        )

    async def lanes(self, context: ToolContext) -> Reply:
        lanes = await context.engine.lanes()
        rows = [{name: getattr(each, name) for name in _LANE} for each in lanes]
        return Reply(text="\n".join(map(lane_line, lanes)), content={"lanes": rows})

    def declined(self, view: View, why: str) -> Reply:
        return reply([view], [why], {**_facts(view), "error": why}, failed=True)

    async def _launched(self, context: ToolContext, view: View, wait: float) -> Reply:
        if wait:
            view = await context.wait_or_background(view, wait)
            if not view.is_live and view.standing is None:
                return await self._ended(context, view)
        said = wake(view, context.caller, f'{self.ask_with} {{"id": "{view.id}"}}')
        rule = "" if view.standing is None else f"Runs: {one_line(view.standing.rule)}"
        return _reply(view, [f"Task {view.id} is {view.state}.", rule, approval(view), said], wake=said)

    async def _ended(self, context: ToolContext, view: View, *, empty: str = "") -> Reply:
        rest = f'to read all of it: output {{"id": "{view.id}", "offset": 0}}'
        shown = await context.result(view, rest=rest)
        lines = [listed(view, context.engine.now()), *_more(view), shown.text or empty]
        return _reply(view, lines, output=shown.text, truncated=view.latest.truncated or shown.is_cut)


def _is_awaited(wait: float, given: Mapping[str, Any]) -> bool:
    """Return whether a launch waits for the end of its task; a recurring one has none."""
    return wait > 0 and not any(given.get(each) for each in RECURRING)


def _reply(view: View, lines: list[str], **more: Any) -> Reply:
    return reply([view], lines, {**_facts(view), **more})


def _place(view: View, action: str) -> str:
    return f"It is {action} in lane {view.lane}." if action in ("first", "last") else ""


def listed(view: View, now: datetime) -> str:
    run = view.latest
    words = [view.id, view.marks, state_word(view)]
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
    found = remarks(view)
    lines = [found.get("approval", ""), f"error: {found['error']}" if "error" in found else ""]
    return [*lines, f"progress: {found['progress']['percent']}%"] if "progress" in found else lines


def _facts(view: View) -> dict[str, Any]:
    """Return what programs may rely on, with the names of `--json`."""
    names: tuple[str, ...] = (
        "id", "kind", "state", "description", "batch", "created_at", "started_at", "completed_at",
        "exit_code", "signal", "duration", "truncated", "output_file", "paused_at",
    )  # fmt: skip
    if view.agent is not None:
        names = (*names, "agent", "resume_count", "forked", "tool_calls", "recent_tools")
    if view.standing is not None:
        names = (*names, "schedule", "next_run_at", "run_count", "run_state")
    flat = as_json(view)
    flat["description"] = one_line(view.description)
    found = {name: flat[name] for name in names if flat[name] not in _NOTHING}
    return {**found, **remarks(view)}
