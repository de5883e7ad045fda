"""The program of a command: where it is, and why it could not be started.

It is looked up with the PATH of whoever launched the task, and the message names the exact thing that
is wrong: the kernel's one "No such file" means a missing program, directory or interpreter.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_split: tuple[str, list[str]] = ("", ["./"])


def resolve(name: str, env: Mapping[str, str]) -> str:
    """Find a program as a shell would; a name that is found nowhere is given back as it is."""
    if "/" in name:
        return name
    folders = _folders(env.get("PATH", _DEFAULT_PATH))
    for folder in folders:
        path = folder + name
        if os.access(path, os.X_OK) and stat.S_ISREG(os.stat(path).st_mode):
            return path
    # What is there and cannot be started is worth a better message than "not found".
    return next((path for folder in reversed(folders) if os.path.isfile(path := folder + name)), name)


def _folders(path: str) -> list[str]:
    """Split a PATH, each folder once; most runs have that of the one before."""
    global _split
    if path != _split[0]:
        _split = path, list(dict.fromkeys([f"{folder or '.'}/" for folder in path.split(":")]))
    return _split[1]


def niced(nice: int, path: str, argv: list[str]) -> tuple[str, list[str]]:
    """Wrap a command in `nice`, so that it has its niceness from its first moment.

    Where the system refuses a higher priority, `nice` says so in the output and runs the command anyway.
    """
    added = nice - os.getpriority(os.PRIO_PROCESS, 0)
    return resolve("nice", {}), ["nice", "-n", str(added), path, *argv[1:]]


def explain_directory(cwd: str, error: OSError) -> str:
    """Say why a command cannot run in its directory."""
    match error.errno:
        case errno.ENOENT:
            return f"the working directory does not exist: {cwd}"
        case errno.ENOTDIR:
            return f"the working directory is not a directory: {cwd}"
        case errno.EACCES:
            return f"the working directory may not be entered: {cwd}"
    return f"the working directory cannot be used: {cwd}: {error.strerror}"


def explain_start(name: str, path: str, error: OSError) -> str:
    """Say why a program did not start."""
    match error.errno:
        case errno.ENOENT if "/" not in path:
            return f"command not found: {name}"
        case errno.ENOENT if not os.path.exists(path):
            return f"no such program: {path}"
        case errno.ENOENT:
            return f"the interpreter that {path} names in its first line does not exist"
        case errno.EACCES if os.path.isdir(path):
            return f"not a program but a directory: {path}"
        case errno.EACCES | errno.EPERM:
            return f"not executable: {path}"
        case errno.ENOTDIR:
            return f"no such program: {path} (a part of it is not a directory)"
        case errno.ENOEXEC:
            return f"not a program this system can run (is a #! line missing?): {path}"
        case errno.E2BIG:
            return f"arguments and environment are too large for the system: {path}"
        case errno.EAGAIN | errno.ENOMEM:
            return f"the system has no room for another process: {error.strerror}"
    return f"cannot start {path}: {error.strerror}"
