"""Examining: everything an engine stands on, looked at piece by piece, without changing anything.

What cannot be looked at is a finding too, never the end of the examination.
"""

from __future__ import annotations

import os
import select
import time
from datetime import timedelta

from errands import __version__, config
from errands.engine.bell_client import BellClient
from errands.engine.daemon.lock import daemon_facts
from errands.frontends.cli.display.format import ago, now
from errands.model.errors import ErrandsError
from errands.model.record import record
from errands.ports.home import is_locked
from errands.ports.rundir import record_path
from errands.ports.store import Query
from errands.text import plural, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Literal

    from errands.frontends.cli.context import Context

    Level = Literal["ok", "warn", "fail"]

LITTLE_SPACE = 200 << 20
NO_SPACE = 20 << 20
FEW_FILES = 1000
ANSWERS_WITHIN = 2.0
LATE = timedelta(minutes=1)
UNANSWERED = timedelta(days=1)


@record
class Finding:
    """One thing that was looked at; `advice` says what to do when it is not well."""

    level: Level
    text: str
    advice: str = ""


def examine(context: Context) -> Iterator[tuple[str, Finding]]:
    """Look at everything; give the findings with their sections."""
    for section, look in SECTIONS:
        try:
            for finding in look(context):
                yield section, finding
        except (ErrandsError, OSError) as error:
            yield section, Finding(level="fail", text=str(error))


def _configuration(context: Context) -> Iterator[Finding]:
    _, problems = config.inspect(context.cwd, context.environ, thorough=True)
    for problem in problems:
        yield Finding(level="fail", text=str(problem), advice="correct it, then: errands config check")
    for problem in config.strangers(context.environ):
        yield Finding(level="warn", text=str(problem))
    if not problems:
        yield Finding(level="ok", text="every key and value is understood")


def _permissions(context: Context) -> Iterator[Finding]:
    home = context.home
    if not os.path.isdir(home.path):
        yield _future_home(home.path)
        return
    found = [
        finding
        for path, most in ((home.path, 0o700), (home.runs, 0o700), (home.store, 0o600), (home.log, 0o600))
        for finding in _permission(path, most)
    ]
    yield from found or [Finding(level="ok", text=f"{home.path} is yours alone")]


def _future_home(path: str) -> Finding:
    """Tell whether the first task could make the home."""
    place = _standing(path)
    if not os.path.isdir(place):
        text = f"cannot use {path} for the store: {place} is not a directory"
        return Finding(level="fail", text=text, advice="set ERRANDS_HOME to a directory of yours")
    if not os.access(place, os.W_OK | os.X_OK):
        text = f"cannot use {path} for the store: {place} cannot be written"
        advice = "make it writable, or set ERRANDS_HOME to a directory that is"
        return Finding(level="fail", text=text, advice=advice)
    return Finding(level="ok", text=f"{path} does not exist yet; the first task makes it")


def _standing(path: str) -> str:
    """Give a path, or of the directories above it the nearest that exists."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def _permission(path: str, most: int) -> Iterator[Finding]:
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return
    mode = facts.st_mode & 0o777
    if facts.st_uid != os.geteuid():
        advice = "set ERRANDS_HOME to a directory of yours"
        text = f"{path} belongs to another user (uid {facts.st_uid})"
        yield Finding(level="fail", text=text, advice=advice)
    elif mode & ~most:
        text = f"{path} has mode {mode:o}: others can see what tasks print"
        yield Finding(level="fail", text=text, advice=f"chmod {most:o} {path}")
    elif not os.access(path, os.W_OK):
        yield Finding(level="fail", text=f"{path} cannot be written", advice=f"chmod u+w {path}")


def _disk(context: Context) -> Iterator[Finding]:
    place = context.home.path
    while not os.path.exists(place):
        place = os.path.dirname(place)
    facts = os.statvfs(place)
    free = facts.f_bavail * facts.f_frsize
    advice = "free some space: running tasks go on, but new ones and their output need room"
    if free < NO_SPACE:
        yield Finding(level="fail", text=f"only {size(free)} free at {place}", advice=advice)
    elif free < LITTLE_SPACE:
        yield Finding(level="warn", text=f"only {size(free)} free at {place}", advice=advice)
    else:
        yield Finding(level="ok", text=f"{size(free)} free at {place}")
    if facts.f_files and facts.f_favail < FEW_FILES:
        yield Finding(
            level="warn", text=f"only {facts.f_favail} more files fit at {place}", advice="remove some"
        )


def _store(context: Context) -> Iterator[Finding]:
    home = context.home
    if not os.path.exists(home.store):
        yield Finding(level="ok", text="no task was ever started here")
        return
    wrong = context.bootstrap.store_damage(home)
    for each in wrong:
        advice = (
            "errands daemon stop, then errands doctor --repair: what can be read is kept, nothing is deleted"
        )
        yield Finding(level="fail", text=f"{home.store}: {each}", advice=advice)
    if not wrong:
        counts = context.engine.counts()
        told = ", ".join(f"{count:,} {state}" for state, count in counts.items() if count) or "no runs"
        yield Finding(level="ok", text=f"{home.store} is sound ({size(os.path.getsize(home.store))}): {told}")
    for name in sorted(os.listdir(home.path)):
        if ".damaged-" in name and not name.endswith(("-wal", "-shm")):
            text = f"{home.path}/{name} was set aside by a repair"
            yield Finding(level="warn", text=text, advice="look at it, then remove it")


def _daemon(context: Context) -> Iterator[Finding]:
    facts = daemon_facts(context.home)
    if facts is None:
        live = _live(context)
        if live:
            text = f"no daemon runs; live or queued: {plural(live, 'run')}"
            yield Finding(level="warn", text=text, advice="errands daemon start; nothing is lost meanwhile")
        else:
            yield Finding(level="ok", text="no daemon runs; it starts with the next task")
        return
    what = "daemon" if facts.get("role") == "daemon" else "program that embeds Errands, process"
    if not _answers(context):
        yield Finding(
            level="fail",
            text=f"the {what} {facts.get('pid')} does not answer; it may be stopped (SIGSTOP) or stuck",
            advice=f"kill -CONT {facts.get('pid')}, or kill -9 it: what runs goes on and is found again",
        )
        return
    yield Finding(level="ok", text=f"the {what} {facts.get('pid')} answers")
    yield from _differences(context, facts)


def _differences(context: Context, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """What the daemon would do otherwise, were it started now."""
    advice = "errands daemon stop; the next command starts a new one, and what runs goes on"
    if facts.get("version") != __version__:
        text = f"it is version {facts.get('version')}, this command is {__version__}"
        yield Finding(level="warn", text=text, advice=advice)
    lanes = facts.get("lanes", {})
    for name in sorted({*lanes, *context.config.lanes}):
        there, here = lanes.get(name), context.config.lanes.get(name)
        if there != here:
            text = f"its lane {name} has width {there or 'none'}, your configuration says {here or 'none'}"
            yield Finding(level="warn", text=text, advice=advice)


def _live(context: Context) -> int:
    if not os.path.exists(context.home.store):
        return 0
    counts = context.engine.counts()
    return counts.get("pending", 0) + counts.get("running", 0)


def _answers(context: Context) -> bool:
    """Ask the holder for a sign of life."""
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
    name, weaknesses = context.bootstrap.platform()
    for each in weaknesses:
        yield Finding(level="warn", text=f"supervision by {name}: {each}")
    if not weaknesses:
        yield Finding(level="ok", text=f"supervision by {name}: every guarantee holds")
    yield _sandbox()


def _sandbox() -> Finding:
    """See whether --sandbox would work; many containers do not let anybody build walls."""
    import subprocess

    from errands.engine.daemon.sandbox import bubblewrap

    try:
        words = (bubblewrap(), "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "/bin/true")
    except ErrandsError:
        return Finding(level="ok", text="no bubblewrap: everything works but --sandbox")
    tried = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if tried.returncode:
        return Finding(
            level="warn",
            text=f"--sandbox does not work here: {tried.stderr.strip()[:200]}",
            advice="allow user namespaces, or leave --sandbox out and isolate tasks in another way",
        )
    return Finding(level="ok", text="--sandbox works (bubblewrap)")


def _agents(context: Context) -> Iterator[Finding]:
    """See whether each agent that is configured could start; nobody is asked anything."""
    for name in dict.fromkeys((context.config.agents.default, *context.config.backends)):
        try:
            why = context.bootstrap.agent_readiness(name, context.config)
            yield Finding(level="ok", text=f"{name} can start: {why}")
        except (ErrandsError, ImportError, ValueError) as error:
            yield Finding(level="warn", text=f"{name} cannot start: {error}")


def _runs(context: Context) -> Iterator[Finding]:
    if not os.path.exists(context.home.store):
        return
    stale = [
        Finding(
            level="warn",
            text=f"{task.id} started {ago(run.started_at, at=now()) if run.started_at else 'once'}, "
            "and whoever supervised it is gone",
            advice="the daemon settles it; if none runs: errands daemon start",
        )
        for task, run in context.engine.running()
        if _is_forsaken(record_path(context.home.run(run.id), run.attempt))
    ]
    yield from stale or [Finding(level="ok", text="every running task is supervised")]


def _is_forsaken(path: str) -> bool:
    """Return whether the shim of a run's record is gone; a run without a record is about to start."""
    return os.path.exists(path) and not is_locked(path)


def _proposals(context: Context) -> Iterator[Finding]:
    if not os.path.exists(context.home.store):
        return
    at = now()
    found = [
        Finding(
            level="warn",
            text=f"{view.id} was asked about {ago(view.question.asked_at, at=at)}, and nobody has answered; "
            f"it expires {ago(view.question.expires_at, at=at)}",
            advice=f"errands show {view.id}, then errands approve or errands reject",
        )
        for view in context.engine.list(Query(states=("proposed",)))
        if view.question is not None and at - view.question.asked_at > UNANSWERED
    ]
    yield from found or [Finding(level="ok", text="no question has waited for long")]


def _schedules(context: Context) -> Iterator[Finding]:
    if not os.path.exists(context.home.store):
        return
    active = context.engine.schedules.count_active()
    if not active:
        yield Finding(level="ok", text="nothing is scheduled")
    else:
        wrong = context.bootstrap.unattended(context.home)
        advice = "errands install service has the system start it; until then the next task does"
        tasks = plural(active, "standing task")
        yield from (Finding(level="warn", text=f"{tasks}: {each}", advice=advice) for each in wrong)
        if not wrong:
            yield Finding(level="ok", text=f"{tasks}; the system starts the daemon after a reboot")
    for view in context.engine.list(Query(states=("paused",))):
        if view.standing is not None and view.standing.failures:
            text = f"{view.id} is paused because it failed {view.standing.failures} times in a row"
            yield Finding(
                level="warn", text=text, advice=f"errands show {view.id}, then errands unpause {view.id}"
            )


def _notices(context: Context) -> Iterator[Finding]:
    if not os.path.exists(context.home.store):
        return
    found = context.engine.notices.undelivered()
    dead = [notice for notice in found if notice.state != "waiting"]
    late = [notice for notice in found if notice.state == "waiting" and now() - notice.created_at > LATE]
    advice = "errands notices --undelivered tells which and why; errands notices retry --all sends them"
    if dead:
        yield Finding(
            level="fail", text=f"{plural(len(dead), 'notice')} could not be delivered", advice=advice
        )
    if late:
        text = f"{plural(len(late), 'notice')} not delivered for more than a minute"
        yield Finding(level="warn", text=text, advice=advice)
    if not dead and not late:
        yield Finding(level="ok", text="every notice was delivered")


def _channels(context: Context) -> Iterator[Finding]:
    from errands.config.channels import READY, kind_of, secrets_of

    channels = context.config.channels
    for name, settings in channels.items():
        trouble = context.bootstrap.channel_trouble(name, context.config)
        if trouble:
            advice = f"correct [channels.{name}], then: errands channel test {name}"
            yield Finding(level="fail", text=f"channel {name}: {trouble}", advice=advice)
            continue
        for path in secrets_of(settings):
            if os.stat(path).st_mode & 0o077:
                text = f"channel {name}: others can read its secret {path}"
                yield Finding(level="fail", text=text, advice=f"chmod 600 {path}")
        if settings.get("listen") and not settings.get("allowed"):
            advice = f"allowed = [YOUR USER ID] in [channels.{name}]"
            yield Finding(level="warn", text=f"channel {name}: nobody may answer there", advice=advice)
        yield Finding(level="ok", text=f"channel {name} is ready ({kind_of(name, channels)})")
    for each in context.config.notices.channels:
        if each.partition(":")[0] not in (*channels, *READY):
            yield Finding(level="fail", text=f"notices.channels names {each}, which is not configured")


def _discovery(context: Context) -> Iterator[Finding]:
    if context.config.discovery.enabled:
        from errands.frontends.cli.doctor.discovery import health

        text, advice = health(context)
        yield Finding(level="warn" if advice else "ok", text=text, advice=advice)


def _events(context: Context) -> Iterator[Finding]:
    from errands.frontends.cli.doctor.watches import health

    for level, text, advice in health(context):
        yield Finding(level=level, text=text, advice=advice)


SECTIONS: tuple[tuple[str, Callable[[Context], Iterator[Finding]]], ...] = (
    ("configuration", _configuration),
    ("permissions", _permissions),
    ("disk", _disk),
    ("store", _store),
    ("daemon", _daemon),
    ("platform", _platform),
    ("agents", _agents),
    ("runs", _runs),
    ("approvals", _proposals),
    ("schedules", _schedules),
    ("events", _events),
    ("channels", _channels),
    ("notices", _notices),
    ("discovery", _discovery),
)
