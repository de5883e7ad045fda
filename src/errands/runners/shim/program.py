"""The program of a command: where it is, and why it could not be started.

It is looked up in the PATH of the task, and messages say exactly what is wrong: the kernel's "No such file"
can mean a missing program, directory or interpreter.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from errands.runners.shim.parent import FileActions

_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_split: tuple[str, list[str]] = ("", ["./"])


def resolve(name: str, env: Mapping[str, str]) -> str:
    """Return the path of a program, found as a shell would; return the name itself if it is not found."""
    if "/" in name:
        return name
    folders = _folders(env.get("PATH", _DEFAULT_PATH))
    for folder in folders:
        path = folder + name
        if os.access(path, os.X_OK) and stat.S_ISREG(os.stat(path).st_mode):
            return path
    # A file that is not executable deserves a better message than "not found".
    return next((path for folder in reversed(folders) if os.path.isfile(path := folder + name)), name)


def _folders(path: str) -> list[str]:
    """Split a PATH, without duplicates; cache it, because most runs have the same one."""
    global _split
    if path != _split[0]:
        _split = path, list(dict.fromkeys([f"{folder or '.'}/" for folder in path.split(":")]))
    return _split[1]


def with_nice(nice: int, path: str, argv: list[str]) -> tuple[str, list[str]]:
    """Wrap a command in `nice`, so that it has its niceness from the start.

    Where the system refuses a higher priority, `nice` says so in the output and runs the command anyway.
    """
    added = nice - os.getpriority(os.PRIO_PROCESS, 0)
    return resolve("nice", {}), ["nice", "-n", str(added), path, *argv[1:]]


def require(name: str, env: Mapping[str, str]) -> None:
    """Raise OSError, with the reason, if a program without a full path is not there or not executable."""
    path = resolve(name, env)
    if "/" in path and (path.startswith("/") or os.access(path, os.X_OK)):
        return
    number = errno.EACCES if "/" in path and os.path.exists(path) else errno.ENOENT
    raise OSError(number, explain_start(name, path, OSError(number, os.strerror(number))))


def explain_directory(cwd: str, error: OSError) -> str:
    """Return why a command cannot run in its directory."""
    match error.errno:
        case errno.ENOENT:
            return f"the working directory does not exist: {cwd}"
        case errno.ENOTDIR:
            return f"the working directory is not a directory: {cwd}"
        case errno.EACCES:
            return f"no permission to enter the working directory: {cwd}"
    return f"the working directory cannot be used: {cwd}: {error.strerror}"


def explain_start(name: str, path: str, error: OSError) -> str:
    """Return why a program did not start."""
    match error.errno:
        case errno.ENOENT if "/" not in path:
            return f"command not found: {name}"
        case errno.ENOENT if not os.path.exists(path):
            return f"no such program: {path}"
        case errno.ENOENT:
            return f"the interpreter that {path} names in its first line does not exist"
        case errno.EACCES if os.path.isdir(path):
            return f"a directory, not a program: {path}"
        case errno.EACCES | errno.EPERM:
            return f"not executable: {path}"
        case errno.ENOTDIR:
            return f"no such program: {path} (part of the path is not a directory)"
        case errno.ENOEXEC:
            return f"not a program that this system can run (is a #! line missing?): {path}"
        case errno.E2BIG:
            return f"arguments and environment are too large for the system: {path}"
        case errno.EAGAIN | errno.ENOMEM:
            return f"the system has no room for another process: {error.strerror}"
    return f"cannot start {path}: {error.strerror}"


def terminal_actions(terminal: str) -> FileActions:
    """Return how a command gets its standard files if they are a terminal."""
    return [
        # Opening it by name makes it the controlling terminal of the new session.
        (os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
    ]


def pipe_actions(stdin: int, out: int) -> FileActions:
    """Return how a command gets its standard files; a negative `stdin` means that it has no input."""
    return [
        (os.POSIX_SPAWN_DUP2, stdin, 0)
        if stdin >= 0
        else (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, out, 1),
        (os.POSIX_SPAWN_DUP2, out, 2),
    ]
