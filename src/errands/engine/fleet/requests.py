"""Requests: what other homes want done with tasks of this home, which does it or says why not.

Each can come twice, because a reply can be lost, but counts once.
"""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING

from errands.engine.fleet.placed_run import directory, own_environ
from errands.model.approval import FLEET, KEPT
from errands.model.errors import (
    Drifted,
    ErrandsError,
    IllegalMove,
    NoInput,
    NotAPerson,
    StoreError,
)
from errands.model.options.template import from_text
from errands.model.record import evolve
from errands.model.states import not_running
from errands.ports.fleet import Reply, placement, spool
from errands.ports.rundir import CUT_SHORT, NO_INPUT

if TYPE_CHECKING:
    from errands.engine.engine import Engine
    from errands.model.approval import Approval
    from errands.model.task import Task
    from errands.model.view import View
    from errands.ports.fleet import Request


def carry_out(engine: Engine, request: Request) -> Reply | None:
    """Do what another home asks for; None: it is under way, so call this again later."""
    try:
        if request.wish == "keep":
            return Reply(result=_keep(engine, request).id)
        task = engine.task(request.task)
        if not task.host:
            raise IllegalMove(
                f"{request.task} is not placed on another host, so only its own home can do that"
            )
        match request.wish:
            case "cancel":
                engine.cancel([task.id], by=f"{FLEET} {request.author}")
            case "approve" | "reject":
                _answer(engine, task, request)
            case "send":
                return _send(engine, task, request)
            case "pause" | "unpause":
                return Reply(result=_pause(engine, task, request))
            case "resume":
                key = f"{FLEET}:{request.token}"
                return Reply(
                    result=engine.sessions.resume(task.id, str(request.body["prompt"]), key=key).latest.id
                )
    except StoreError:
        raise
    except ErrandsError as error:
        return Reply(refusal=str(error))
    except (KeyError, TypeError, ValueError) as error:
        return Reply(refusal=f"the home cannot read the request ({error!r}); is that an older version?")
    return Reply()


def _keep(engine: Engine, request: Request) -> View:
    """Keep a schedule for another home: it runs here whether that one is awake or not."""
    said, environ = request.body, own_environ()
    draft = evolve(
        from_text(said["draft"]),
        cwd=directory(said["cwd"], environ, is_named=said["cwd_is_named"]),
        environ=environ,
        owner=f"{KEPT}:{request.author}:{said['owner']}",
        created_by=f"{FLEET} {request.author}",
        key=f"{FLEET}:{request.token}",
        consent=said["consent"],
        door=FLEET,
    )
    try:
        return engine.submit(draft)
    except NotAPerson:  # this daemon was started inside a run
        return engine.submit(evolve(draft, consent="none"))


def _send(engine: Engine, task: Task, request: Request) -> Reply | None:
    """Send input to the run that the request names; answer when that has taken it, or has ended."""
    said, view = request.body, engine.summaries([task.id])[0]
    run_id, content = str(said["run"]), binascii.a2b_base64(said["content"])
    where = engine.home.run(run_id)
    if not task.takes_input:
        raise NoInput(NO_INPUT)
    if not spool.was_put(where, request.token) and (view.latest.id, view.latest.state) != (run_id, "running"):
        raise IllegalMove(not_running(view.id, view.state))
    number = spool.put_once(where, request.token, content, is_last=bool(said["eof"]))
    answer = spool.reply_to(where, number)
    if answer is None and view.latest.id == run_id and view.is_live:
        return None
    return Reply(refusal=spool.not_taken(CUT_SHORT if answer is None else answer))


def _pause(engine: Engine, task: Task, request: Request) -> str:
    """Pause or continue a task; return what that changed: its schedule, start, processes, or nothing."""
    by, run = f"{FLEET} {request.author}", bool(request.body["run"])
    act = engine.queue.pause if request.wish == "pause" else engine.queue.unpause
    before = engine.summaries([task.id])[0]
    after = act(task.id, by=by, run=run)
    if after.standing is not None and not run:
        return "schedule"
    if request.wish == "pause":
        return "start" if after.is_held else "processes"
    if before.latest.paused_at is None:
        return "nothing"
    return "start" if before.is_held else "processes"


def _answer(engine: Engine, task: Task, request: Request) -> None:
    """Answer a question in the name of a person at another home, who saw exactly this one."""
    said, question = request.body, engine.question(task.id)
    if question is not None and _name(engine, task, question) != request.token:
        raise Drifted(
            f"the question about {task.id} that you saw is void: it has changed since; "
            f"look at it with `errands show {task.id}`, then answer again"
        )
    by, door = f"{said['by']} ({request.author})", str(said["door"])
    shown = None if question is None else question.id
    if request.wish == "approve":
        engine.approve(task.id, by=by, door=door, scope=said["scope"], question=shown)
    else:
        engine.reject(task.id, by=by, door=door, note=str(said["note"]), question=shown)


def _name(engine: Engine, task: Task, question: Approval) -> str:
    """Return what the fleet calls a question: about the whole task, or about a call of its agent."""
    if task.state != "proposed":
        return question.digest
    found = placement.read(engine.home.run(f"{task.id}.{question.run}"))
    return "" if found is None else found.digest
