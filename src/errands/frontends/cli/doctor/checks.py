"""The checks of the doctor, by section.

A check that fails with an error is a finding too; the others still run.
"""

from __future__ import annotations

import os
import select
import time
from datetime import timedelta

from errands import __version__, config
from errands.engine.bell_client import BellClient
from errands.engine.daemon.lock import daemon_facts
from errands.frontends.cli.context import Context
from errands.frontends.cli.doctor import Finding, fail, ok, warn
from errands.frontends.cli.doctor.clients import client_findings
from errands.frontends.cli.doctor.watches import event_findings
from errands.model.errors import ErrandsError
from errands.model.text.duration import spoken
from errands.ports.home import is_locked, loose_parent
from errands.ports.rundir import record_path
from errands.ports.store import Query
from errands.text import plural, size
from errands.text.describe import ago, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

LITTLE_SPACE = 200 << 20
NO_SPACE = 20 << 20
FEW_FILES = 1000
ANSWERS_WITHIN = 2.0
LATE = timedelta(minutes=1)
UNANSWERED = timedelta(days=1)
OWN_HOME = "set ERRANDS_HOME to a directory of your own"


def examine(context: Context) -> Iterator[tuple[str, Finding]]:
    """Run every check; yield the findings with their sections."""
    said = ""
    for section, check in SECTIONS:
        try:
            if section in ABOUT_TASKS and not os.path.exists(context.home.store):
                continue
            for finding in check(context):
                yield section, finding
        except (ErrandsError, OSError) as error:
            # A store that cannot be opened fails most checks, and is explained once.
            is_new, said = said != str(error), str(error)
            yield section, fail(said) if is_new else warn("not checked, for the same reason")


def _configuration(context: Context) -> Iterator[Finding]:
    _, problems = config.inspect(context.cwd, context.environ, thorough=True)
    for problem in problems:
        yield fail(str(problem), "fix it, then: errands config check")
    for problem in config.unknown_variables(context.environ):
        yield warn(str(problem))
    if not problems:
        yield ok("every setting is valid")


def _permissions(context: Context) -> Iterator[Finding]:
    home = context.home
    if not os.path.isdir(home.path):
        yield _future_home(home.path)
        return
    if os.statvfs(home.path).f_flag & os.ST_RDONLY:
        yield fail(f"the file system of {home.path} is read-only", f"mount it writable, or {OWN_HOME}")
        return
    found = [
        finding
        for path, most in ((home.path, 0o700), (home.runs, 0o700), (home.store, 0o600), (home.log, 0o600))
        for finding in _permission(path, most)
    ]
    yield from found or [ok(f"only you can read {home.path}")]
    if loose := loose_parent(home.path):
        yield warn(f"every user may rename {home.path}, because of the mode of {loose}", f"chmod o-w {loose}")


def _future_home(path: str) -> Finding:
    """Return whether the first task could create the home."""
    place = path
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        return fail(f"cannot use {path} for the store: {place} is not a directory", OWN_HOME)
    if not os.access(place, os.W_OK | os.X_OK):
        advice = "make it writable, or set ERRANDS_HOME to a directory that is"
        return fail(f"cannot use {path} for the store: {place} is not writable", advice)
    if loose := loose_parent(path):
        return fail(f"cannot make {path}: everyone may rename what is in {loose}", f"chmod o-w {loose}")
    return ok(f"{path} does not exist yet; the first task creates it")


def _permission(path: str, most: int) -> Iterator[Finding]:
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return
    mode = facts.st_mode & 0o777
    if facts.st_uid != os.geteuid():
        yield fail(f"{path} belongs to another user (uid {facts.st_uid})", OWN_HOME)
    elif mode & ~most:
        yield fail(f"{path} has mode {mode:o}: others can read the output of tasks", f"chmod {most:o} {path}")
    elif not os.access(path, os.W_OK):
        yield fail(f"{path} is not writable", f"chmod u+w {path}")


def _disk(context: Context) -> Iterator[Finding]:
    place = context.home.path
    while not os.path.exists(place):
        place = os.path.dirname(place)
    facts = os.statvfs(place)
    free = facts.f_bavail * facts.f_frsize
    advice = "free some space: running tasks continue, but new ones and their output need room"
    if free < NO_SPACE:
        yield fail(f"only {size(free)} free at {place}", advice)
    elif free < LITTLE_SPACE:
        yield warn(f"only {size(free)} free at {place}", advice)
    else:
        yield ok(f"{size(free)} free at {place}")
    if facts.f_files and facts.f_favail < FEW_FILES:
        yield warn(f"only {facts.f_favail} more files fit at {place}", "remove some")


def _store(context: Context) -> Iterator[Finding]:
    home = context.home
    if not os.path.exists(home.store):
        yield ok("no task has been started here yet")
        return
    if not (os.access(home.store, os.W_OK) and os.access(home.path, os.W_OK)):
        # A repair could not write either.
        yield warn("not checked, because it cannot be written")
        return
    damage = context.bootstrap.store_damage(home)
    for each in damage:
        advice = "errands daemon stop, then errands doctor --repair: keeps what can be read, deletes nothing"
        yield fail(f"{home.store}: {each}", advice)
    if not damage:
        counts = context.engine.counts()
        runs = ", ".join(f"{count:,} {state}" for state, count in counts.items() if count) or "no runs"
        yield ok(f"{home.store} is not damaged ({size(_store_size(home.store))}): {runs}")
    for name in sorted(os.listdir(home.path)):
        if ".damaged-" in name and not name.endswith(("-wal", "-shm")):
            yield warn(f"{home.path}/{name} was set aside by a repair", "look at it, then remove it")


def _store_size(path: str) -> int:
    """Return the bytes of the database and its write-ahead log, which holds what was written last."""
    return sum(os.path.getsize(each) for each in (path, f"{path}-wal") if os.path.exists(each))


def _daemon(context: Context) -> Iterator[Finding]:
    facts = daemon_facts(context.home)
    if facts is None:
        live = _live(context)
        if live:
            text = f"no daemon is running; live or queued: {plural(live, 'run')}"
            yield warn(text, "errands daemon start; nothing is lost meanwhile")
        else:
            yield ok("no daemon is running; it starts with the next task")
        return
    what = "daemon" if facts.get("role") == "daemon" else "program that embeds Errands, process"
    if not _answers(context):
        yield fail(
            f"the {what} (pid {facts.get('pid')}) does not respond; it may be suspended (SIGSTOP) or stuck",
            f"kill -CONT {facts.get('pid')}, or kill -9 it: running tasks continue",
        )
        return
    yield ok(f"the {what} (pid {facts.get('pid')}) responds")
    yield from _differences(context, facts)


def _differences(context: Context, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield where the running daemon differs from one started now."""
    advice = "errands daemon stop; the next command starts a new one, and running tasks continue"
    if facts.get("role") != "daemon":
        advice = "start that program again; running tasks continue"  # `daemon stop` does not end it
    if facts.get("version") != __version__:
        yield warn(f"it is version {facts.get('version')}, this command is {__version__}", advice)
    lanes = facts.get("lanes", {})
    for name in sorted({*lanes, *context.config.lanes}):
        there, here = lanes.get(name), context.config.lanes.get(name)
        if there != here:
            text = f"lane {name} is {_wide(there)} for the daemon, and {_wide(here)} in your configuration"
            yield warn(text, advice)


def _wide(width: int | None) -> str:
    return "unknown" if width is None else f"{width} wide"


def _live(context: Context) -> int:
    if not os.path.exists(context.home.store):
        return 0
    counts = context.engine.counts()
    return counts.get("pending", 0) + counts.get("running", 0)


def _answers(context: Context) -> bool:
    """Return whether the daemon answers a ping."""
    bell = BellClient(context.home.bell)
    try:
        if not bell.ping():
            return False
        deadline = time.monotonic() + ANSWERS_WITHIN
        while (left := deadline - time.monotonic()) > 0:
            if select.select([bell], [], [], left)[0]:
                return bool(bell.read())
        return False
    finally:
        bell.close()


def _platform(context: Context) -> Iterator[Finding]:
    name, weaknesses, missing_walls = context.bootstrap.platform()
    for each in weaknesses:
        yield warn(f"process supervision ({name}): {each}")
    if not weaknesses:
        yield ok(f"process supervision: complete ({name})")
    yield _walls(missing_walls)
    yield _sandbox(context.config.approval.mode)


def _walls(why: str) -> Finding:
    if why:
        return warn(
            f"commands that start without approval have no walls here, only the judge: {why}",
            "Linux 5.13 or later with Landlock has them; `errands propose` asks first, whatever the command",
        )
    return ok("commands that only read cannot write or connect (Landlock, seccomp)")


_OWN_WORK = {
    "contained": "starts at once, in a sandbox (bubblewrap)",
    "trusting": "starts at once, without a sandbox (approval.mode is trusting)",
    "careful": "waits for approval (approval.mode is careful)",
}


def _sandbox(mode: str) -> Finding:
    """Try to build a sandbox; many containers do not allow it."""
    from errands.engine.walls.bubblewrap import obstacle

    why = obstacle()
    if why:
        work = "the project's own work waits for approval, and " if mode == "contained" else ""
        return warn(
            f"no sandbox: {why}; {work}--sandbox is refused",
            "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap) and allow user namespaces",
        )
    return ok(f"the project's own work {_OWN_WORK[mode]}")


def _agents(context: Context) -> Iterator[Finding]:
    """Check whether each configured agent could start, without asking it anything."""
    for name in dict.fromkeys((context.config.agents.default, *context.config.backends)):
        try:
            why = context.bootstrap.agent_readiness(name, context.config)
            yield ok(f"{name} can start: {why}")
        except (ErrandsError, ImportError, ValueError) as error:
            yield warn(f"{name} cannot start: {error}")


def _runs(context: Context) -> Iterator[Finding]:
    stale = [
        warn(
            f"{task.id} started {ago(run.started_at, at=now()) if run.started_at else 'once'}, "
            "and its supervisor is gone",
            "the daemon cleans it up; if none is running: errands daemon start",
        )
        for task, run in context.engine.running()
        # What another host carries out has no supervisor here.
        if not task.host and _is_abandoned(record_path(context.home.run(run.id), run.attempt))
    ]
    yield from stale or [ok("every running task is supervised")]


def _is_abandoned(path: str) -> bool:
    """Return whether the shim of a run's record is gone; a run without a record is about to start."""
    return os.path.lexists(path) and not is_locked(path)


def _proposals(context: Context) -> Iterator[Finding]:
    at = now()
    found = [
        warn(
            f"{view.id} has been waiting for approval for {spoken(at - view.question.asked_at)}; "
            f"it expires {ago(view.question.expires_at, at=at)}",
            f"errands show {view.id}, then errands approve or errands reject",
        )
        for view in context.engine.list(Query(states=("proposed",)))
        if view.question is not None and at - view.question.asked_at > UNANSWERED
    ]
    yield from found or [ok("nothing has been waiting for approval for long")]


def _schedules(context: Context) -> Iterator[Finding]:
    active = context.engine.schedules.count_active()
    if not active:
        yield ok("nothing is scheduled")
    else:
        wrong = context.bootstrap.unattended(context.home)
        tasks = plural(active, "recurring task")
        for each in wrong:
            # Without systemd or launchd there is nothing that `install service` could write.
            how = "" if "neither systemd nor launchd" in each else " (errands install service)"
            yield warn(
                f"{tasks}: {each}", f"until the system starts the daemon{how}, the next task starts it"
            )
        if not wrong:
            yield ok(f"{tasks}; the system starts the daemon after a reboot")
    for view in context.engine.list(Query(states=("paused",))):
        if view.standing is not None and view.standing.failures:
            text = f"{view.id} is paused because it failed {view.standing.failures} times in a row"
            yield warn(text, f"errands show {view.id}, then errands unpause {view.id}")


def _notices(context: Context) -> Iterator[Finding]:
    found = context.engine.notices.undelivered()
    dead = [notice for notice in found if notice.state != "waiting"]
    late = [notice for notice in found if notice.state == "waiting" and now() - notice.created_at > LATE]
    advice = "errands notices --undelivered shows why; errands notices retry --all sends them again"
    if dead:
        yield fail(f"{plural(len(dead), 'notice')} could not be delivered", advice)
    if late:
        yield warn(f"{plural(len(late), 'notice')} not delivered for more than a minute", advice)
    if not dead and not late:
        yield ok("every notice was delivered")


def _channels(context: Context) -> Iterator[Finding]:
    from errands.config.channels import READY, kind_of, secrets_of

    channels = context.config.channels
    for name, settings in channels.items():
        trouble = context.bootstrap.channel_trouble(name, context.config)
        if trouble:
            advice = f"correct [channels.{name}], then: errands channel test {name}"
            yield fail(f"channel {name}: {trouble}", advice)
            continue
        for path in secrets_of(settings):
            if os.stat(path).st_mode & 0o077:
                yield fail(f"channel {name}: others can read its secret {path}", f"chmod 600 {path}")
        if settings.get("listen") and not settings.get("allowed"):
            advice = f"allowed = [YOUR USER ID] in [channels.{name}]"
            yield warn(f"channel {name}: no user is allowed to answer there", advice)
        yield ok(f"channel {name} is ready ({kind_of(name, channels)})")
    for each in context.config.notices.channels:
        if each.partition(":")[0] not in (*channels, *READY):
            yield fail(f"notices.channels names {each}, which is not configured")


def _discovery(context: Context) -> Iterator[Finding]:
    if not context.config.discovery.enabled:
        return
    from errands.engine.agents.discovery import KEY, agent_of
    from errands.text.describe import repetition

    if agent_of(context.config) is None:
        return  # it begins with the first model
    known = context.engine.id_by_key(KEY)
    state = None if known is None else context.engine.task(known).state
    if known is None or state not in ("active", "paused"):
        advice = "errands daemon stop, then errands daemon start"
        yield warn("discovery is enabled, but its task is not running", advice)
    elif state == "paused":
        advice = f"errands show {known}; errands unpause {known}"
        yield warn(f"{known} is paused, so no new work is proposed", advice)
    else:
        view = context.engine.get(known)
        yield ok(f"{known} looks for work: {repetition(view, at=context.engine.clock.now())}")


ABOUT_TASKS = ("runs", "approvals", "schedules", "notices")  # without a store there are none
SECTIONS: tuple[tuple[str, Callable[[Context], Iterator[Finding]]], ...] = (
    ("configuration", _configuration),
    ("permissions", _permissions),
    ("disk", _disk),
    ("store", _store),
    ("daemon", _daemon),
    ("platform", _platform),
    ("agents", _agents),
    ("clients", client_findings),
    ("runs", _runs),
    ("approvals", _proposals),
    ("schedules", _schedules),
    ("events", event_findings),
    ("channels", _channels),
    ("notices", _notices),
    ("discovery", _discovery),
)
