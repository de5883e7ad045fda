"""The actor: who starts, cancels or answers something, and which run this process is part of.

A background process is not a person, whatever it did to its environment, so it cannot answer questions.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LAUNCHED = "run "  # begins the name of an actor that is a run and not a person
_MARK = b"ERRANDS_RUN_ID="
_SHIMS = (
    b"/errands/runners/shim/zygote.py\0",
    b"/errands/runners/shim/watch_shim.py\0",
    b"\0errands.runners.warm.warm_zygote\0",
)
_TRIES = 100  # walks to the first process; one more is needed whenever a process on the way ends


def actor(environ: Mapping[str, str] = os.environ) -> str:
    """Return the actor of an environment: the run it was made for, or the person."""
    run = environ.get("ERRANDS_RUN_ID")
    name = f"{LAUNCHED}{run}" if run else environ.get("USER") or environ.get("LOGNAME") or _account()
    return name.encode("utf-8", "replace").decode()


_accounts: dict[int, str] = {}  # by number: looking one up reads a file


def _account() -> str:
    uid = os.getuid()
    if uid not in _accounts:
        import pwd

        try:
            _accounts[uid] = pwd.getpwuid(uid).pw_name
        except KeyError:
            _accounts[uid] = f"uid {uid}"
    return _accounts[uid]


def enclosing_run() -> str:
    """Return the run that this process is part of, or the empty text."""
    return next(enclosing_runs(), "")


def is_inside_a_run(host: str, port: int, *, is_proxy: bool = False) -> bool:
    """Return whether a client on this machine, known by its connection's address, is part of a run.

    One whose process is not found counts as part of a run, except behind another user's proxy, whose
    processes cannot be inspected: a run has the user of its daemon.
    """
    if not sys.platform.startswith("linux"):
        return False  # connections do not say whose they are
    sockets = list(_sockets(host, port))
    owners = [pid for inode, _ in sockets for pid in _owners(inode)]
    if not owners:
        return not (is_proxy and sockets and all(user != os.getuid() for _, user in sockets))
    return any(next(_above(pid), "") for pid in owners)


def enclosing_runs() -> Iterator[str]:
    """Yield every name of the run of this process: from its own environment and from its ancestors'.

    All ancestors are looked at, whatever their number. What cannot be ruled out counts as inside, because a
    process can end its parents, or hide them, while they are looked at.
    """
    if run := os.environ.get("ERRANDS_RUN_ID"):
        yield run
    if not sys.platform.startswith("linux"):
        return  # the variable must do
    try:
        if int(os.readlink("/proc/self")) != os.getpid():
            yield "that hides behind a namespace of process numbers"
            return
    except (OSError, ValueError):
        yield "that hides its ancestors: /proc is not what it should be"
        return
    yield from _above(os.getpid())


def _above(start: int) -> Iterator[str]:
    """Yield every name of the run that a process or its ancestors are part of."""
    for _ in range(_TRIES):
        chain: list[int] = [start]
        while (pid := chain[-1]) > 0:
            for variable in _read(pid, "environ").split(b"\0"):
                if variable.startswith(_MARK) and variable != _MARK:
                    yield os.fsdecode(variable[len(_MARK) :])
            # Orphans of a run come to its shim, so a process without a shim among its ancestors is outside.
            words = _read(pid, "cmdline")
            if any(shim in words for shim in _SHIMS):
                yield "that this process descends from"
                return
            chain.append(0 if pid == 1 or _is_hidden(pid) else _parent(pid))
        if pid == 0 and all(_parent(below) == above for below, above in pairwise(chain) if above):
            return
    yield "that cannot be ruled out: the ancestors of this process keep changing"


def _sockets(host: str, port: int) -> Iterator[tuple[bytes, int]]:
    """Yield the sockets that are bound to an address of this machine: their numbers and their users."""
    import ipaddress

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return
    wanted = [address.packed]
    if address.version == 4:
        wanted.append(ipaddress.IPv6Address(f"::ffff:{address}").packed)
    for name in ("tcp", "tcp6"):
        for row in _read("self", f"net/{name}").splitlines()[1:]:
            fields = row.split()
            where, _, number = fields[1].partition(b":")
            # The kernel prints addresses in words of the machine's own byte order.
            packed = b"".join(
                int(where[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(where), 8)
            )
            if int(number, 16) == port and packed in wanted:
                yield fields[9], int(fields[7])


def _owners(inode: bytes) -> Iterator[int]:
    """Yield the processes that have a socket open."""
    link = f"socket:[{os.fsdecode(inode)}]"
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            files = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue  # another user's, or it has ended
        for file in files:
            try:
                if os.readlink(f"/proc/{pid}/fd/{file}") == link:
                    yield int(pid)
                    break
            except OSError:
                continue


def _is_hidden(pid: int) -> bool:
    """Return whether a process belongs to another user, whose processes this system does not show."""
    if _read(pid, "stat"):
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        pass  # it has ended
    return False


def _parent(pid: int) -> int:
    """Return the parent of a process, or -1 if it has ended."""
    # The name of a program, in brackets, may contain anything.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else -1


def _read(pid: int | str, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""  # another user's process, or one that has ended
