"""The doctor: looks at everything an engine stands on, and explains what is wrong.

It changes nothing; `errands doctor --repair` is another thing.
"""

from __future__ import annotations

import fcntl
import os
import select
from collections.abc import Iterator
from datetime import timedelta

from errands import __version__
from errands.engine.doorbell import Bell
from errands.engine.engine import Engine
from errands.engine.holder import holder
from errands.engine.home import Home
from errands.model.finding import Finding

ANSWER_WITHIN = 2.0  # seconds
LITTLE_SPACE = 200 << 20
FEW_FILES = 1000
LATE = timedelta(minutes=1)


def examine_home(home: Home) -> Iterator[Finding]:
    """Look at the directory itself: whose it is, who can read it, how much room there is."""
    if not os.path.isdir(home.path):
        yield _ok("permissions", f"{home.path} does not exist yet; the first task makes it")
        return
    wrong = False
    for path, most in ((home.path, 0o700), (home.runs, 0o700), (home.store, 0o600), (home.log, 0o600)):
        if not os.path.exists(path):
            continue
        facts = os.stat(path)
        mode = facts.st_mode & 0o777
        problem = advice = ""
        if facts.st_uid != os.geteuid():
            problem, advice = (
                f"belongs to another user (uid {facts.st_uid})",
                "set ERRANDS_HOME to one of yours",
            )
        elif mode & ~most:
            problem, advice = f"can be read by others ({mode:o})", f"chmod {most:o} {path}"
        elif not os.access(path, os.W_OK):
            problem, advice = "cannot be written", f"chmod u+w {path}"
        if problem:
            wrong = True
            yield Finding(section="permissions", level="fail", text=f"{path} {problem}", advice=advice)
    if not wrong:
        yield _ok("permissions", f"{home.path} is yours alone")
    yield from _disk(home)


def examine_daemon(home: Home, *, live: int) -> Iterator[Finding]:
    """Look at whoever runs the loops: there, answering, of our version."""
    facts = holder(home)
    if facts is None and live:
        yield Finding(
            section="daemon",
            level="fail",
            text=f"nobody runs the loops, and {live} runs wait for it",
            advice="errands daemon start; nothing is lost meanwhile",
        )
        return
    if facts is None:
        yield _ok("daemon", "none runs; it starts with the next task")
        return
    name = f"the {'daemon' if facts['role'] == 'daemon' else 'program that embeds Errands'} {facts['pid']}"
    if not _answers(home):
        yield Finding(
            section="daemon",
            level="fail",
            text=f"{name} does not answer within {ANSWER_WITHIN:g} s; it may be stopped (SIGSTOP) or stuck",
            advice=f"kill -CONT {facts['pid']}; if that does not help, kill -9 it: no task is lost",
        )
        return
    yield _ok("daemon", f"{name} answers")
    if facts["version"] != __version__:
        yield Finding(
            section="daemon",
            level="warn",
            text=f"it is version {facts['version']}, this command is {__version__}",
            advice="errands daemon stop; the next command starts the new one, what runs goes on",
        )


def examine_store(engine: Engine, damage: list[str]) -> Iterator[Finding]:
    """Look at the store: sound and readable, every running task supervised, every notice told."""
    path = engine.home.store
    for each in damage:
        yield Finding(
            section="store",
            level="fail",
            text=f"{path}: {each}",
            advice="errands daemon stop, then errands doctor --repair: nothing is deleted",
        )
    if damage:
        return
    damaged = engine.store.damaged()
    for task_id in damaged:
        yield Finding(
            section="store",
            level="fail",
            text=f"the record of task {task_id} cannot be understood",
            advice="errands daemon stop, then errands doctor --repair: nothing is deleted",
        )
    counts = engine.store.counts()
    told = ", ".join(f"{n:,} {state}" for state, n in counts.items() if n) or "no runs yet"
    if not damaged:
        yield _ok("store", f"{path} is sound: {told}")
    yield from _set_aside(engine.home)
    yield from _stale(engine)
    yield from _notices(engine)


def _disk(home: Home) -> Iterator[Finding]:
    facts = os.statvfs(home.path)
    free = facts.f_bavail * facts.f_frsize
    if free < LITTLE_SPACE:
        yield Finding(
            section="disk",
            level="warn",
            text=f"only {free >> 20} MiB free at {home.path}",
            advice="free some space, or `errands clear`; tasks go on, but output and new tasks need room",
        )
    elif facts.f_files and facts.f_favail < FEW_FILES:
        yield Finding(
            section="disk", level="warn", text=f"only {facts.f_favail} files can still be made at {home.path}"
        )
    else:
        yield _ok("disk", f"{free >> 20:,} MiB free at {home.path}")


def _set_aside(home: Home) -> Iterator[Finding]:
    for name in sorted(os.listdir(home.path)):
        if ".damaged-" in name and not name.endswith(("-wal", "-shm")):
            yield Finding(
                section="store",
                level="warn",
                text=f"{home.path}/{name} was set aside by a repair",
                advice="look at it, then remove it",
            )


def _stale(engine: Engine) -> Iterator[Finding]:
    stale = [run_id for run_id in engine.store.running_ids() if _is_abandoned(engine.home.run(run_id))]
    for run_id in stale:
        yield Finding(
            section="runs",
            level="warn",
            text=f"run {run_id} is marked running, but its supervisor is gone",
            advice="a running daemon settles it within seconds: errands daemon start",
        )
    if not stale:
        yield _ok("runs", "every running task is supervised")


def _is_abandoned(directory: str) -> bool:
    """Tell whether a run has a record that nobody holds; one without a record is just about to start."""
    try:
        names = sorted(name for name in os.listdir(directory) if name.startswith("record."))
        handle = os.open(f"{directory}/{names[-1]}", os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, IndexError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def _notices(engine: Engine) -> Iterator[Finding]:
    now = engine.clock.now()
    found = engine.store.undelivered()
    dead = [each for each in found if each.state in ("dead", "unknown")]
    late = [each for each in found if each.state == "waiting" and now - each.created_at > LATE]
    if dead:
        yield Finding(
            section="notices",
            level="fail",
            text=f"{len(dead)} notices could not be delivered, the first: {dead[0].error}",
            advice="errands notices --undelivered",
        )
    if late:
        yield Finding(
            section="notices",
            level="warn",
            text=f"{len(late)} notices have waited for more than a minute",
            advice="is the daemon running? errands notices --undelivered",
        )
    if not dead and not late:
        yield _ok("notices", "every notice was delivered")


def _answers(home: Home) -> bool:
    bell = Bell(home.bell)
    try:
        if not bell.ping():
            return False
        return bool(select.select([bell.fileno()], [], [], ANSWER_WITHIN)[0]) and bool(bell.heard())
    finally:
        bell.close()


def _ok(section: str, text: str) -> Finding:
    return Finding(section=section, level="ok", text=text)
