"""Start the daemon as a process of its own, in the background."""

from __future__ import annotations

import os
import sys
import time

from errands.engine.bell_client import BellClient
from errands.model.errors import DaemonError
from errands.ports.home import make_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.home import Home

READY_WITHIN = 10.0  # seconds


def start(home: Home) -> None:
    """Start the daemon in the background and return when it answers, or say why it does not."""
    make_home(home.path)
    logged = os.path.getsize(home.log) if os.path.exists(home.log) else 0
    child = _spawn(home)
    deadline = time.monotonic() + READY_WITHIN
    bell = BellClient(home.bell)
    try:
        while time.monotonic() < deadline:
            if bell.is_answered():
                return
            ended, code = os.waitpid(child, os.WNOHANG)
            if ended and os.waitstatus_to_exitcode(code):
                raise DaemonError(
                    f"the daemon could not start:\n{_last_words(home, logged)}\nThe whole log: {home.log}"
                )
            time.sleep(0.005)
    except ChildProcessError:
        return  # it was another process's daemon that answered for ours
    finally:
        bell.close()
    raise DaemonError(
        f"the daemon does not answer after {READY_WITHIN:g} s; nothing is lost: "
        f"see {home.log}, then `errands daemon status` and `errands doctor`"
    )


def _spawn(home: Home) -> int:
    environ = {**os.environ, "ERRANDS_HOME": home.path}
    log_file = os.open(home.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.posix_spawn(
            sys.executable,
            # -P: a module named errands in the caller's directory, which a run may have written, is not ours.
            [sys.executable, "-P", "-m", "errands", "daemon", "run"],
            {k: v for k, v in environ.items() if k not in ("ERRANDS_RUN_ID", "ERRANDS_TASK_ID")},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, nothing, 0),
                (os.POSIX_SPAWN_DUP2, log_file, 1),
                (os.POSIX_SPAWN_DUP2, log_file, 2),
            ],
            setsid=True,
        )
    finally:
        os.close(log_file)
        os.close(nothing)


def _last_words(home: Home, since: int) -> str:
    """Return the end of what a daemon wrote into its log, which was `since` bytes long before it."""
    try:
        with open(home.log, "rb") as file:
            file.seek(max(since, os.fstat(file.fileno()).st_size - 2000))
            return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-5:])
    except OSError as error:
        return f"(its log cannot be read: {error})"
