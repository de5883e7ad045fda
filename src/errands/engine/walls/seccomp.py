"""The system calls that are refused in a sandbox, as a program for the kernel.

Namespaces and mounts isolate a sandbox; this closes what they leave open: new namespaces and mounts, parts
of the kernel that few programs need, kinds of sockets that no namespace covers, setuid files, leases, for
which programs outside would wait, and input for the terminal that the sandbox shares. Tracing is allowed:
debuggers and sanitizers need it, and there is nothing to trace but the sandbox itself.
"""

from __future__ import annotations

import errno
from functools import cache

from errands.ports.seccomp import (
    ARCHITECTURES,
    CLONE,
    EQUAL,
    IOCTL,
    MISSING,
    NEW_NAMESPACES,
    REFUSED,
    SET,
    TYPED_INPUT,
    allow,
    load,
    on,
    op,
    opening,
    refuse,
)

# The call, and which of its arguments is the mode of a file.
_MODES = {
    "chmod": (90, 0, 1), "fchmod": (91, 52, 1), "fchmodat": (268, 53, 2), "fchmodat2": (452, 452, 2),
    "mknod": (133, 0, 1), "mknodat": (259, 33, 2), "creat": (85, 0, 1),
}  # fmt: skip
# The same where the mode, which follows the flags, counts only for a new file.
_OPENS = {"open": (2, 0, 1), "openat": (257, 56, 2)}
_CREATES = 0x400040  # O_CREAT, O_TMPFILE
_SET_ID = 0o6000
_SOCKET, _FCNTL = (41, 198), (72, 25)
_SET_LEASE = 1024  # on a file that may only be read: everyone outside would wait before they may open it
# FS_IOC_ADD_ENCRYPTION_KEY and both ways to remove one: keys belong to a file system, also where it is
# read-only, and without its key a folder of the person outside is locked.
_KEYS = (0xC0506617, 0xC0406618, 0xC0406619)
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink


@cache
def program(machine: str) -> bytes:
    """Return the filter for a kind of processor, as the kernel reads it."""
    column = list(ARCHITECTURES).index(machine)
    lines = opening(machine)
    for table, error in ((REFUSED, errno.EPERM), (MISSING, errno.ENOSYS)):
        for numbers in table.values():
            if numbers[column]:
                lines += on(numbers[column], [refuse(error)])
    for *known, argument in _MODES.values():
        if known[column]:
            lines += on(known[column], [load(argument), op(SET, _SET_ID, 0, 1), refuse(), allow()])
    for *known, flags in _OPENS.values():
        if known[column]:
            creates = [load(flags), op(SET, _CREATES, 0, 3), load(flags + 1)]
            lines += on(known[column], [*creates, op(SET, _SET_ID, 0, 1), refuse(), allow()])
    lines += on(CLONE[column], [load(0), op(SET, NEW_NAMESPACES, 0, 1), refuse(), allow()])
    families = [op(EQUAL, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)]
    refuse_family = refuse(errno.EAFNOSUPPORT)
    lines += on(_SOCKET[column], [load(0), *families, refuse_family, allow()])
    lines += on(_FCNTL[column], [load(1), op(EQUAL, _SET_LEASE, 0, 1), refuse(), allow()])
    refused = (*TYPED_INPUT, *_KEYS)
    requests = [op(EQUAL, request, len(refused) - at, 0) for at, request in enumerate(refused)]
    lines += on(IOCTL[column], [load(1), *requests, allow(), refuse()])
    return b"".join([*lines, allow()])
