"""A placed run: which host a task is for, what that has to know about a run, and the draft it makes of that.

Only what was added to the environment goes along: the rest is that of the host, as is the directory if the
caller did not choose one that exists there.
"""

from __future__ import annotations

import os

from errands.engine.actor import LAUNCHED
from errands.model.action import Shell
from errands.model.agent.session import HOSTS_DEFAULT, remote_place
from errands.model.approval import BY_JUDGE, BY_MODE, FLEET, SAID_YES
from errands.model.errors import BadValue, ErrandsError
from errands.model.limits import LIMITS, Limits
from errands.model.options.draft import HERE, Draft
from errands.model.options.table import BY_NAME
from errands.model.record import evolve, fields, record
from errands.model.task import PRIORITIES
from errands.model.trigger import recurring
from errands.ports.home import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.engine.core import EngineCore
    from errands.model.action import Prompt
    from errands.model.approval import Consent
    from errands.model.run import Run
    from errands.model.task import Task
    from errands.ports.fleet import LossPolicy, Placed
    from errands.ports.fleet.placement import Placement

LANE = "fleet"  # of the runs of other homes, as wide as this host has slots for them
_OURS = ("ERRANDS_RUN_ID", "ERRANDS_TASK_ID", "ERRANDS_RUN_DIR", "ERRANDS_PROGRESS", "ERRANDS_CHANNEL")
_OF_THE_HOME = ("retries", "on_loss")  # limits that the home of a task applies itself


@record
class Asked:
    """What an agent is asked: in a resume, by the host that has its session, and its task there."""

    text: str
    host: str = ""
    session: str = ""


def with_host(core: EngineCore, draft: Draft, configured: str) -> Draft:
    """Return the draft with the host where it runs; `here` is this one, whatever is configured."""
    if draft.host is not None:
        return evolve(draft, host=None) if draft.host == HERE else draft
    if draft.fork is not None:
        return evolve(draft, host=_host_of(core, draft.fork) or None)
    return draft if _stays(draft) else evolve(draft, host=configured)


def _stays(draft: Draft) -> bool:
    """Return whether a draft comes from another home already, or from a run, which starts it where it is."""
    return draft.door == FLEET or (draft.created_by or "").startswith(LAUNCHED)


def _host_of(core: EngineCore, task_id: str) -> str:
    """Return the host of a task, whose session no other one has."""
    try:
        return core.task(core.resolve(task_id)).host
    except ErrandsError:
        return ""  # what is wrong with it is said when it is forked


def check_joined(home: str) -> None:
    """Refuse to place a task from a home that is not in a fleet."""
    if not os.path.exists(Home(path=home).fleet):
        raise BadValue("--host needs a fleet, and this home is not in one; join one: errands host join URL")


def key_of(run: Run) -> str:
    """Return the name of an attempt at a run in the fleet, which is unique in its home."""
    return f"{run.id}:{run.attempt}"


def may_be_asked(task: Task) -> bool:
    """Return whether the host may ask about a run that it has taken, because no person consented to it."""
    return _consent(task.approved_by) == "none"


def placed(
    task: Task,
    run: Run,
    placement: Placement,
    *,
    home: str,
    name: str,
    asked: Asked | None = None,
    event: Mapping[str, Any] | None = None,
) -> Placed:
    """Return an attempt at a run as the fleet gets it; a host that asked about it gets it again.

    `asked` is what an agent is asked in this run, `event` what led to it (`event_payload.packed`).
    """
    from errands.ports.fleet import Placed

    pinned = placement.asked_on or ("" if asked is None else asked.host)
    return Placed(
        home=home,
        key=key_of(run),
        task=task.id,
        selector=pinned or task.host,
        lane=task.lane,
        priority=PRIORITIES.index(task.priority),
        policy=_policy(task, asked),
        body={**_body(task, placement, name, asked), **({} if event is None else {"event": event})},
        had_host=bool(placement.host),
    )


def _policy(task: Task, asked: Asked | None) -> LossPolicy:
    """Return what becomes of a run whose host is lost: an agent continues, unless its session is there."""
    goes_on = asked is not None and not asked.session and task.limits.on_loss == "lost"
    return "steps" if goes_on else task.limits.on_loss


def _body(task: Task, placement: Placement, name: str, asked: Asked | None) -> dict[str, Any]:
    action = task.action
    return {
        "from": name,
        "task": task.id,
        "name": task.name,
        "description": task.description,
        **(_commands(action) if isinstance(action, Shell) else _prompt(action, asked)),
        "cwd": action.cwd,
        "cwd_is_named": action.cwd_is_named,
        "env": dict(action.env),
        "limits": LIMITS.whole(task.limits),
        # An answer to a question of the host counts for exactly what it asked about.
        "consent": "none" if placement.digest else _consent(task.approved_by),
        "approved_by": task.approved_by or "",
        "digest": placement.digest,
        "goes_on": _goes_on(task),
        # For another home that has the channel, while this one is asleep.
        "notify": task.notify,
        "channels": [{"channel": each.channel, "target": each.target} for each in task.channels],
        "shown": task.command if task.channels else "",
    }


def _goes_on(task: Task) -> str:
    """Return after which ends of a run the task may continue, for those who wait for it elsewhere."""
    if recurring(task.trigger) is not None:
        return "always"
    return "failed" if task.limits.retries else "never"


def _commands(action: Shell) -> dict[str, Any]:
    walls = action.sandbox
    return {
        "commands": [_plain(each) for each in action.commands],
        "before": [_plain(each) for each in action.before],
        "lastly": [_plain(each) for each in action.lastly],
        "input": action.input,
        "sandbox": "none" if walls is None else "files" if walls.network else "network",
    }


def _prompt(action: Prompt, asked: Asked | None) -> dict[str, Any]:
    forked = None if action.fork is None else remote_place(action.fork)
    return {
        "prompt": action.text if asked is None else asked.text,
        "resume": "" if asked is None else asked.session,
        "fork": "" if forked is None else forked[1],
        "agent": "" if action.agent == HOSTS_DEFAULT else action.agent,
        "model": action.model,
        "tools": None if action.tools is None else list(action.tools),
        "allow": list(action.allow),
        "allow_tools": list(action.allow_tools),
        "budget": dict(action.budget),
    }


def _plain(command: tuple[str, ...] | str) -> list[str] | str:
    return command if isinstance(command, str) else list(command)


def _consent(approved_by: str | None) -> Consent:
    if approved_by is None or approved_by in (BY_JUDGE, BY_MODE):
        return "none"
    return "yes" if approved_by.endswith(SAID_YES) else "typed"


def draft_of(body: Mapping[str, Any], *, key: str, environ: Mapping[str, str]) -> Draft:
    """Return the draft of a run that another home placed here; raise an error that its owner understands."""
    return Draft(
        **(_prompt_options(body) if "prompt" in body else _command_options(body)),
        name=body["name"],
        description=body["description"],
        cwd=directory(body["cwd"], environ, is_named=body["cwd_is_named"]),
        env={**body["env"], **body.get("event", {}).get("variables", {})},
        environ=environ,
        notify="never",
        channels=(),
        key=key,
        owner=f"{FLEET}:{body['from']}",
        created_by=f"{FLEET} {body['from']}",
        consent=body["consent"],
        door=FLEET,
        **_limits(LIMITS.decode(body["limits"])),
    )


def _limits(limits: Limits) -> dict[str, Any]:
    """Return the options for these limits; none of them comes from the configuration here."""
    given = {name: getattr(limits, name) for name in fields(Limits) if name not in _OF_THE_HOME}
    return {
        name: "none" if value is None and BY_NAME[name].unlimited else value for name, value in given.items()
    }


def _command_options(body: Mapping[str, Any]) -> dict[str, Any]:
    first, *others = (_command(each) for each in body["commands"])
    return {
        "command": first,
        "then": tuple(others),
        "before": tuple(_command(each) for each in body["before"]),
        "lastly": tuple(_command(each) for each in body["lastly"]),
        "lane": LANE,
        "input": body.get("input", "none"),
        "sandbox": body["sandbox"],
    }


def _prompt_options(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a prompt; its lane is that of the agent here, which may be one at a time."""
    return {
        "prompt": body["prompt"],
        "agent": body["agent"] or None,
        "model": body["model"],
        "tools": None if body["tools"] is None else tuple(body["tools"]),
        "allow": tuple(body["allow"]),
        "allow_tools": tuple(body["allow_tools"]),
        "budget": body["budget"],
        "fork": body["fork"] or None,
    }


def _command(plain: list[str] | str) -> tuple[str, ...] | str:
    return plain if isinstance(plain, str) else tuple(plain)


def own_environ() -> dict[str, str]:
    """Return the environment of the tasks of other homes here: that of the daemon."""
    return {name: value for name, value in os.environ.items() if name not in _OURS}


def directory(wanted: str, environ: Mapping[str, str], *, is_named: bool) -> str:
    """Return where a task of another home runs here; refuse a directory that was chosen and is missing."""
    if os.path.isdir(wanted):
        return wanted
    if is_named:
        raise BadValue(f"{wanted} is not a directory on this host; create it there, or choose another --cwd")
    home = environ.get("HOME", "")
    return home if os.path.isdir(home) else "/"
