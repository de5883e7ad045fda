"""daemon: the process that runs the tasks. It starts when needed; stopping it stops no task."""

from __future__ import annotations

import os
import time

from errands.engine.daemon.lock import daemon_facts, is_daemon_running
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Verb
from errands.model.errors import DaemonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


STOPPED_WITHIN = 15.0


def start(context: Context, arguments: Arguments) -> int:
    home = context.home
    if is_daemon_running(home):
        context.say(f"the daemon is already running{_as_pid(daemon_facts(home))}")
        return 0
    context.bootstrap.start_daemon(home)
    context.say(f"started the daemon{_as_pid(daemon_facts(home))}")
    return 0


def stop(context: Context, arguments: Arguments) -> int:
    home = context.home
    facts = daemon_facts(home)
    if facts is None:
        context.say("no daemon is running")
        return 0
    if facts.get("pid") is None:
        raise DaemonError(f"an unknown process holds {home.lock}; find it with: fuser {home.lock}")
    if facts.get("role") != "daemon":
        raise DaemonError(
            f"a program that embeds Errands runs the tasks here{_as_pid(facts)}; end that program instead"
        )
    if not _ended(context, int(facts["pid"])):
        raise DaemonError(
            f"the daemon{_as_pid(facts)} did not stop within {STOPPED_WITHIN:g} s; see {home.log}, "
            f"or run kill -9 {facts['pid']}: no task is lost"
        )
    context.say("stopped the daemon; running tasks continue, and the next daemon picks them up")
    return 0


def _ended(context: Context, pid: int) -> bool:
    """Stop the daemon and no other process: its pid is pinned before it is checked."""
    import signal

    try:
        pinned = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        return True
    try:
        facts = daemon_facts(context.home)
        if facts is None or facts.get("pid") != pid:
            return True
        if pinned is None:
            os.kill(pid, signal.SIGTERM)
        else:
            signal.pidfd_send_signal(pinned, signal.SIGTERM)
        return _gone(context, pinned)
    except ProcessLookupError:
        return True
    finally:
        if pinned is not None:
            os.close(pinned)


def _gone(context: Context, pinned: int | None) -> bool:
    """Wait for the process to end; if it is not pinned, for its lock, which it releases a little earlier."""
    if pinned is not None:
        import select

        return bool(select.select([pinned], [], [], STOPPED_WITHIN)[0])
    deadline = time.monotonic() + STOPPED_WITHIN
    while is_daemon_running(context.home) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_daemon_running(context.home)


def replace(context: Context) -> None:
    """Replace the daemon, so that the next one starts with what is on disk now; running tasks continue."""
    facts = daemon_facts(context.home)
    if facts is not None and facts.get("role") != "daemon":
        raise DaemonError(
            f"a program that embeds Errands runs the tasks here{_as_pid(facts)}; restart that program"
        )
    if facts is not None and facts.get("pid") and not _ended(context, int(facts["pid"])):
        raise DaemonError(f"the daemon{_as_pid(facts)} does not stop; see {context.home.log}")
    context.bootstrap.start_daemon(context.home)


def status(context: Context, arguments: Arguments) -> int:
    from errands import __version__

    home = context.home
    facts = daemon_facts(home)
    if arguments.json:
        found: dict[str, Any] = {
            "running": facts is not None,
            "pid": None,
            "version": __version__,
            **(facts or {}),
        }
        found["home"] = home.path
        context.print_json(found)
    elif facts is None:
        context.say(f"no daemon is running for {home.path}; it starts with the next task")
    else:
        what = "the daemon" if facts.get("role") == "daemon" else "a program that embeds Errands"
        context.say(f"{what} is running{_as_pid(facts)}, version {facts.get('version')}, home {home.path}")
        if facts.get("version") != __version__:
            context.say(f"this command is version {__version__}; replace the daemon: errands daemon stop")
    return 0 if facts is not None else 1


def run(context: Context, arguments: Arguments) -> int:
    import gc

    gc.enable()  # a daemon runs for long
    return context.bootstrap.run_daemon(context.home)


def _as_pid(facts: dict[str, Any] | None) -> str:
    return f" (process {facts['pid']})" if facts and facts.get("pid") else ""


VERBS = (
    Verb(
        name="daemon start",
        summary="start the daemon; commands that need it start it themselves",
        run=start,
    ),
    Verb(name="daemon stop", summary="stop the daemon; running tasks continue", run=stop),
    Verb(
        name="daemon status",
        summary="show whether the daemon is running; exits with 1 if it is not",
        run=status,
        options=(JSON_FIELDS,),
    ),
    Verb(name="daemon run", summary="run the daemon in the foreground", run=run),
)
