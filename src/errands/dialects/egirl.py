"""The dialect of egirl: tasks that an agent adds, proposes, lists, cancels and runs once more."""

from __future__ import annotations

from errands.dialects.arguments import number, schema, task_id, text
from errands.dialects.projections import EGIRL, egirl, egirl_run
from errands.dialects.showing import complaint, phrase
from errands.dialects.spoken import Spoken
from errands.dialects.visit import Missing
from errands.dialects.waking import approval, told
from errands.model.errors import BadValue
from errands.ports.dialect import Reply, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from errands.dialects.visit import Visit
    from errands.model.view import View

LISTED = 20  # tasks in one list, as many as may be active
RESULT = 500  # characters of each result in a list
NOTHING = "No tasks."
KINDS = ("scheduled", "oneshot")
NOTIFY = ("always", "on_change", "on_failure", "never")
_ID = "id of the task"
_NEW = {
    "name": text("short name, such as watch-deploy", longest=200),
    "description": text("one sentence", longest=1000),
    "prompt": text("what the agent should do each run"),
    "kind": text("only oneshot so far", longest=20, enum=list(KINDS)),
    "interval": text("for scheduled tasks: 30m, 2h, 1d", longest=100),
    "notify": text("when to report", longest=20, enum=list(NOTIFY)),
    "max_runs": number("for scheduled tasks", minimum=1),
}
_EXAMPLE = (
    'Example: {"name": "check-ci", "description": "Look at CI of main", '
    '"prompt": "Run `gh run list --branch main --limit 5` and report what failed.", "kind": "oneshot"}'
)


class Egirl(Spoken):
    name = "egirl"
    ask_with = "task_list"
    spoken = (
        Tool(
            name="task_add",
            description="Create a new background task, as the user wished; it is active at once. {end}\n"
            + _EXAMPLE,
            parameters=schema("name", "description", "prompt", "kind", **_NEW),
        ),
        Tool(
            name="task_propose",
            description="Propose a background task that nobody asked for. It does not run until a person "
            "approves it. {end}\n"
            'Example: {"name": "watch-deploy", "description": "Watch the deploy to staging", '
            '"prompt": "Run `kubectl rollout status deployment/app` and report.", "kind": "oneshot"}',
            parameters=schema("name", "description", "prompt", "kind", **_NEW),
            asks=True,
        ),
        Tool(
            name="task_list",
            description='List tasks by status, newest first. Example: {"status": "active"}',
            parameters=schema(status=text(longest=20, enum=list(EGIRL))),
            reads_only=True,
        ),
        Tool(
            name="task_cancel",
            description='Delete a task; what runs of it ends. Example: {"task_id": "check-ci-7k2m4x"}',
            parameters=schema("task_id", task_id=task_id(_ID)),
            destructive=True,
        ),
        Tool(
            name="task_run_now",
            description='Run a task immediately. {end} Example: {"task_id": "check-ci-7k2m4x"}',
            parameters=schema("task_id", task_id=task_id(_ID)),
        ),
    )

    async def task_add(self, visit: Visit, **given: Any) -> Reply:
        view = await self._made(visit, propose=False, **given)
        lines = [f"Task added: {phrase(view.name)}", *_about(view), approval(view)]
        return await _reply(visit, view, [*lines, self._told(visit, view)])

    async def task_propose(self, visit: Visit, **given: Any) -> Reply:
        view = await self._made(visit, propose=True, **given)
        lines = [f"Proposed task: {phrase(view.name)}", *_about(view), approval(view)]
        return await _reply(visit, view, [*lines, self._told(visit, view)])

    async def task_list(self, visit: Visit, *, status: str | None = None) -> Reply:
        views = [
            view for view in await visit.tasks() if egirl(view) is not None and status in (None, egirl(view))
        ]
        facts = [await _facts(visit, view) for view in views[:LISTED]]
        lines = []
        for view, each in zip(views, facts, strict=False):
            ran = each.get("last_run", {})
            lines += [listed(view), approval(view), ran.get("error") or "", ran.get("result") or ""]
        if len(views) > LISTED:
            lines.append(f"[{len(views) - LISTED} older ones are left out]")
        return Reply(
            text="\n".join(line.rstrip("\n") for line in lines if line) or NOTHING,
            content={"tasks": facts},
            tasks=tuple(view.id for view in views[:LISTED]),
        )

    async def task_cancel(self, visit: Visit, *, task_id: str) -> Reply:
        view = await self._found(visit, task_id)
        if view.is_live:
            # What was cancelled is gone for whoever speaks like this; people still see what became of it.
            (view,) = await visit.cancelled(view)
        else:
            await visit.engine.clear(view.id)
        done = f"Task {view.id} is about to end." if view.is_live else f"Task cancelled: {view.id}"
        return Reply(text=done, content={"id": view.id}, tasks=(view.id,))

    async def task_run_now(self, visit: Visit, *, task_id: str) -> Reply:
        view = await self._found(visit, task_id)
        if view.state == "proposed":
            raise BadValue(f"Task {view.id} is proposed. {approval(view)}")
        if view.is_live:
            waits = "is running already" if view.latest.state == "running" else "waits for its turn already"
            raise BadValue(f"Task {view.id} {waits}; its end is all there is to wait for.")
        view = await visit.engine.restart(view.id)
        lines = [f"Task started: {phrase(view.name)}", *_about(view), approval(view)]
        return await _reply(visit, view, [*lines, self._told(visit, view)])

    async def _found(self, visit: Visit, task_id: str) -> View:
        view = await visit.find(task_id)
        if egirl(view) is None:
            raise Missing(task_id)
        return view

    async def _made(
        self,
        visit: Visit,
        *,
        propose: bool,
        name: str,
        description: str,
        prompt: str,
        kind: str,
        interval: str | None = None,
        notify: str | None = None,
        max_runs: int | None = None,
    ) -> View:
        check_supported(kind, interval, max_runs)
        options = visit.options(
            name=name, description=description, propose=propose, notify=_policy(notify, kind)
        )
        return await visit.engine.ask(prompt, **options)

    def _told(self, visit: Visit, view: View) -> str:
        return told(view, visit.caller, self.ask_with)


def check_supported(kind: str, interval: str | None, max_runs: int | None) -> None:
    """Refuse what the engine cannot do: it runs a task once, not on a schedule. No other place knows that."""
    if kind != "oneshot" or interval is not None or max_runs not in (None, 1):
        raise BadValue(
            "Scheduled tasks are not supported; use kind 'oneshot' without interval and max_runs: "
            "it runs once, at once, and task_run_now runs it again."
        )


def _policy(notify: str | None, kind: str) -> str | None:
    """Of a task that runs once every result is a change."""
    return "always" if notify == "on_change" and kind == "oneshot" else notify


async def _reply(visit: Visit, view: View, lines: list[str]) -> Reply:
    return Reply(
        text="\n".join(line for line in lines if line),
        content=await _facts(visit, view),
        tasks=(view.id,),
        proposed=(view.id,) if view.state == "proposed" else (),
    )


def _about(view: View) -> list[str]:
    return [f"ID: {view.id}", f"Status: {egirl(view)}", f"Description: {phrase(view.description)}"]


def listed(view: View) -> str:
    """Write a line of the list."""
    ran = egirl_run(view.latest.state)
    last = f", last run: {ran}" if ran else ""
    return f"{view.id} [{egirl(view)}{last}] {phrase(view.description, 80)}"


async def _facts(visit: Visit, view: View) -> dict[str, Any]:
    """A task with its latest run, by the names and in the units that egirl stores them."""
    run, agent = view.latest, view.agent
    ran = egirl_run(run.state)
    facts: dict[str, Any] = {
        "id": view.id,
        "name": phrase(view.name),
        "description": phrase(view.description),
        "kind": "oneshot",
        "status": egirl(view),
        "prompt": phrase(view.command, 1000),
        "next_run_at": _ms(view.due_at),
        "last_run_at": _ms(run.started_at),
        "run_count": view.runs - (ran is None),
        "max_runs": 1,
        "notify": view.notify,
        "created_by": "agent" if view.created_by.startswith(("agent", "run ")) else "user",
        "created_at": _ms(view.created_at),
        "updated_at": _ms(view.updated_at),
    }
    if ran is None and view.runs > 1:
        del facts["last_run_at"]  # it ran before, and is about to again: only its latest run is known here
    if ran is not None:
        facts["last_run"] = {
            "id": run.id,
            "started_at": _ms(run.started_at),
            "completed_at": _ms(run.completed_at),
            "status": ran,
            "result": None if view.is_live else (await visit.result(view, longest=RESULT)).text or None,
            "error": complaint(view) or None,
            "tokens_used": _tokens(agent.usage) if agent is not None else 0,
        }
    return facts


def _tokens(usage: Mapping[str, int]) -> int:
    return usage.get("input_tokens", 0) + usage.get("output_tokens", 0)


def _ms(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)
