"""A placed run: what a host has to know about a run, and the draft that it makes of that.

Only what was added to the environment goes along: the rest is that of the host, as is the directory if the
caller did not choose one that exists there.
"""

from __future__ import annotations

import os

from errands.model.approval import BY_JUDGE, BY_MODE, FLEET, SAID_YES
from errands.model.errors import BadValue
from errands.model.limits import LIMITS
from errands.model.options.draft import Draft
from errands.model.task import PRIORITIES
from errands.model.trigger import recurring
from errands.ports.home import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.model.action import Shell
    from errands.model.approval import Consent
    from errands.model.run import Run
    from errands.model.task import Task
    from errands.ports.fleet import Placed
    from errands.ports.fleet.placement import Placement

LANE = "fleet"  # of the runs of other homes, as wide as this host has slots for them
_UNLIMITED = ("timeout", "idle", "memory", "cpu", "processes")  # options that take `none`


def check_joined(home: str) -> None:
    """Refuse to place a task from a home that belongs to no fleet."""
    if not os.path.exists(Home(path=home).fleet):
        raise BadValue("--host needs a fleet, and this home belongs to none: errands host join URL")


def key_of(run: Run) -> str:
    """Return the name of an attempt at a run in the fleet, which is unique in its home."""
    return f"{run.id}:{run.attempt}"


def placed(task: Task, run: Run, placement: Placement, *, home: str, name: str) -> Placed:
    """Return an attempt at a run as the fleet gets it; a host that asked about it gets it again."""
    from errands.ports.fleet import Placed

    return Placed(
        home=home,
        key=key_of(run),
        task=task.id,
        selector=placement.asked_on or task.host,
        lane=task.lane,
        priority=PRIORITIES.index(task.priority),
        policy=task.limits.on_loss,
        body=_body(task, placement, name),
        had_host=bool(placement.host),
    )


def _body(task: Task, placement: Placement, name: str) -> dict[str, Any]:
    action: Shell = task.action  # type: ignore[assignment]  # prompts have no host
    walls = action.sandbox
    return {
        "from": name,
        "task": task.id,
        "name": task.name,
        "description": task.description,
        "commands": [_plain(each) for each in action.commands],
        "before": [_plain(each) for each in action.before],
        "lastly": [_plain(each) for each in action.lastly],
        "cwd": action.cwd,
        "cwd_is_named": action.cwd_is_named,
        "env": dict(action.env),
        "sandbox": "none" if walls is None else "files" if walls.network else "network",
        "limits": LIMITS.whole(task.limits),
        # An answer to a question of the host counts for exactly what it asked about.
        "consent": "none" if placement.digest else _consent(task.approved_by),
        "approved_by": task.approved_by or "",
        "digest": placement.digest,
        "goes_on": _goes_on(task),
    }


def _goes_on(task: Task) -> str:
    """Return after which ends of a run the task may go on, for those who wait for it elsewhere."""
    if recurring(task.trigger) is not None:
        return "always"
    return "failed" if task.limits.retries else "never"


def _plain(command: tuple[str, ...] | str) -> list[str] | str:
    return command if isinstance(command, str) else list(command)


def _consent(approved_by: str | None) -> Consent:
    if approved_by is None or approved_by in (BY_JUDGE, BY_MODE):
        return "none"
    return "yes" if approved_by.endswith(SAID_YES) else "typed"


def draft_of(body: Mapping[str, Any], *, key: str, environ: Mapping[str, str]) -> Draft:
    """Return the draft of a run that another home placed here; raise an error that its owner understands."""
    first, *others = (_command(each) for each in body["commands"])
    limits = LIMITS.decode(body["limits"])
    bounded = {name: getattr(limits, name) for name in _UNLIMITED}
    return Draft(
        command=first,
        then=tuple(others),
        before=tuple(_command(each) for each in body["before"]),
        lastly=tuple(_command(each) for each in body["lastly"]),
        name=body["name"],
        description=body["description"],
        cwd=_directory(body["cwd"], environ, is_named=body["cwd_is_named"]),
        env=body["env"],
        environ=environ,
        lane=LANE,
        sandbox=body["sandbox"],
        on_idle=limits.on_idle,
        grace=limits.grace,
        nice=limits.nice,
        output=limits.output,
        notify="never",
        channels=(),
        key=key,
        owner=f"{FLEET}:{body['from']}",
        created_by=f"{FLEET} {body['from']}",
        consent=body["consent"],
        door=FLEET,
        **{name: "none" if value is None else value for name, value in bounded.items()},  # type: ignore[arg-type]
    )


def _command(plain: list[str] | str) -> tuple[str, ...] | str:
    return plain if isinstance(plain, str) else tuple(plain)


def _directory(wanted: str, environ: Mapping[str, str], *, is_named: bool) -> str:
    if os.path.isdir(wanted):
        return wanted
    if is_named:
        raise BadValue(
            f"there is no directory {wanted} on this host; create it there, or choose another --cwd"
        )
    home = environ.get("HOME", "")
    return home if os.path.isdir(home) else "/"
