"""bubblewrap: where it is, and whether it can build a sandbox here."""

from __future__ import annotations

import os
from functools import cache

from errands.engine.walls.seccomp import program
from errands.model.errors import BadValue
from errands.ports.own_file import replace_file
from errands.ports.seccomp import is_known

# Without --die-with-parent: a cancelled run has time to clean up, and the shim ends what is left.
NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL",
)  # fmt: skip
# Not from the search path: a task could put its own there.
_PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")


def bubblewrap() -> str:
    """Return the path of bubblewrap; without it nothing runs in a sandbox."""
    machine = os.uname().machine
    if not is_known(machine):
        raise BadValue(f"a sandbox needs an x86_64 or aarch64 processor; this machine is {machine}")
    for path in _PLACES:
        if os.access(path, os.X_OK):
            return path
    raise BadValue(
        "a sandbox needs bubblewrap, which is not installed here; nothing was started "
        "(Debian, Ubuntu: apt-get install bubblewrap)"
    )


def bound(source: str, place: str, *, writable: bool = False) -> tuple[str, str, str]:
    """Return bubblewrap's arguments for something that is shown at a place inside.

    `source` has no links, and the shim opens it without following any: another run could put one into a
    project while a sandbox is built, which would then show what the link leads to.
    """
    option = "--bind" if writable else "--ro-bind"
    return (f"{option}-fd" if _binds_descriptors(bubblewrap()) else option), source, place


@cache
def _binds_descriptors(path: str) -> bool:
    """Return whether it can show what is open; versions from before August 2024 cannot."""
    import subprocess

    return b"--ro-bind-fd" in subprocess.run([path, "--help"], capture_output=True, check=False).stdout


def obstacle(memory: str = "") -> str:
    """Return why no sandbox can be built here; "" if one can.

    A container or a security module may forbid it, so it is tried once; `memory` is a file for the answer,
    which holds until the next boot or another bubblewrap.
    """
    try:
        path = bubblewrap()
    except BadValue as error:
        return str(error).partition(";")[0]
    key = _circumstances(path)
    if key not in _answers:
        known = _remembered(memory, key)
        _answers[key] = _tried(path) if known is None else known
        if known is None:
            _remember(memory, key, _answers[key])
    return _answers[key]


_answers: dict[str, str] = {}


def _circumstances(path: str) -> str:
    """Return all that an answer depends on, as one line."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return f"{path} {os.stat(path).st_mtime_ns} {boot} {os.geteuid()} {os.readlink('/proc/self/ns/user')}"
    except OSError:
        return path


def _tried(path: str) -> str:
    import subprocess

    reading, writing = os.pipe()
    try:
        os.write(writing, program(os.uname().machine))
        os.close(writing)
        words = [
            path,
            *NAMESPACES,
            "--unshare-net",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
        ]
        words += ["--tmpfs", "/tmp", "--seccomp", str(reading), "--", "/bin/true"]
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, check=False, env={}, pass_fds=[reading]
        )
    finally:
        os.close(reading)
    if done.returncode == 0:
        return ""
    said = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
    return f"bubblewrap cannot build a sandbox here ({said or f'exit code {done.returncode}'})"


def _remembered(cache: str, key: str) -> str | None:
    try:
        with open(cache, encoding="utf-8") as file:
            first, _, answer = file.read(4096).partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return answer if first == key else None


def _remember(cache: str, key: str, answer: str) -> None:
    if not cache:
        return
    try:
        replace_file(cache, f"{key}\n{answer}".encode())
    except OSError:
        pass  # no home yet, or no room in it; the next call tries again
