"""Clean-up of the sessions that backends keep for tasks that were cleared.

Clearing a task must not wait for a server that is slow or away, so the transaction that removes the task
remembers the session, and a process of its own drops it at the backend. It is started at once; the janitor
retries what it cannot reach, ever more seldom, for about a week.
"""

from __future__ import annotations

import logging
import os
import sys
from datetime import timedelta

from errands.ports.agent import CommandResult, Decision, Spec
from errands.ports.home import lock_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from errands.engine.core import EngineCore
    from errands.model.agent.session import OrphanSession
    from errands.ports.agent import Activity, Agent, BackgroundTools, ToolCall
    from errands.ports.home import Home

WITHIN = 300.0  # seconds for a backend to forget one session
PAUSE = timedelta(minutes=10)  # before the second try; each further one comes after twice the time
MOST_TRIES = 10
_LOG = logging.getLogger("errands.dropping")
# The shell exits at once: the process is detached, so that no parent has to reap it.
_DETACHED = '"$0" "$@" &'


def start(home: Home) -> None:
    """Start the process that drops sessions; one that is running already drops the new ones, too."""
    words = ["/bin/sh", "-c", _DETACHED, sys.executable, "-P", "-m", "errands.agents", "drop"]
    log_flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, home.log, log_flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    environ = {**os.environ, "ERRANDS_HOME": home.path}
    try:
        shell = os.posix_spawn("/bin/sh", words, environ, file_actions=streams, setsid=True)
        os.waitpid(shell, 0)
    except ChildProcessError:
        pass  # something else in this process waits for all children
    except OSError as error:  # what was cleared stays cleared
        _LOG.warning("sessions are dropped later, no process can be started for it: %s", error)


async def drop_all(core: EngineCore, make: Callable[[str, str], Agent]) -> None:
    """Drop the sessions left at backends; `make` makes the agent of a name for a directory."""
    lock = lock_file(core.home.session_cleanup)
    if lock is None:
        return  # another process does it, until nothing is left
    try:
        while left := core.store.orphan_sessions(now=core.clock.now()):
            for each in left:
                await _drop(core, each, make)
    finally:
        os.close(lock)


async def _drop(core: EngineCore, remnant: OrphanSession, make: Callable[[str, str], Agent]) -> None:
    from asyncio import timeout  # a process that only starts this one does not need it

    store = core.store
    try:
        agent = make(remnant.agent, remnant.cwd)
        try:
            async with timeout(WITHIN):
                await agent.drop(remnant.name, _EmptyContext(remnant))
        finally:
            await agent.close()
    except Exception as error:  # noqa: BLE001 - one backend must not keep the others back
        is_last = remnant.tries + 1 >= MOST_TRIES
        end = "it stays there" if is_last else "it is tried again"
        why = str(error) or type(error).__name__
        _LOG.warning("session %s of agent %s is not dropped, %s: %s", remnant.name, remnant.agent, end, why)
        with store:
            if is_last:
                store.retry_orphan(remnant, at=None)
            else:
                store.retry_orphan(remnant, at=core.clock.now() + PAUSE * 2**remnant.tries)
        return
    _LOG.info("session %s of agent %s is dropped", remnant.name, remnant.agent)
    with store:
        store.retry_orphan(remnant, at=None)


class _EmptyContext:
    """The context for an agent whose task is gone, with all that was stored for it."""

    def __init__(self, remnant: OrphanSession) -> None:
        self.spec = Spec(agent=remnant.agent, cwd=remnant.cwd, system="")
        self.session = remnant.name
        self.run = ""
        self.background: BackgroundTools | None = None

    def report(self, event: Activity) -> None: ...

    async def request_approval(self, call: ToolCall) -> Decision:
        return Decision(allowed=False, reason="the task was cleared")

    async def run_command(self, call_id: str, line: str) -> CommandResult:
        return CommandResult(state="rejected", error="the task was cleared")

    async def wait_turn(self) -> None: ...

    def messages(self, session: str) -> Sequence[str] | None:
        return None

    def append_messages(self, session: str, messages: Sequence[str]) -> None: ...

    def delete_messages(self, session: str) -> None: ...
