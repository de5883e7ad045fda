"""The system calls that are refused to a command that may only read, as a program for the kernel.

Landlock keeps it from writing to files; this closes what Landlock leaves open: sockets of every kind, modes,
owners, times and attributes of files, other processes, memory and queues shared by number, and the parts of
the kernel that a reader does not need.
"""

from __future__ import annotations

import errno

from errands.ports.seccomp import (
    AND,
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
    load_upper,
    on,
    op,
    opening,
    refuse,
)

# Refused whatever the arguments are: x86-64, then aarch64 (0 where the call does not exist).
_REFUSED: dict[str, tuple[int, int]] = {
    # Modes, owners, times and attributes of files.
    "chmod": (90, 0), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, 0), "fchown": (93, 55), "lchown": (94, 0), "fchownat": (260, 54),
    "utime": (132, 0), "utimes": (235, 0), "futimesat": (261, 0), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "removexattrat": (466, 466), "file_setattr": (469, 469),
    # Other processes. A thread of the shim has the same walls, so Landlock does not keep these from it.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # What processes share by number or name.
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189),
    "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    # The kernel and the machine.
    "fanotify_init": (300, 262),
    "quotactl_fd": (443, 443),
    "adjtimex": (159, 171), "clock_adjtime": (305, 266),
}  # fmt: skip
# Sockets: a pair that a process makes for itself is all that is left.
_SOCKETS = {
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242),
}  # fmt: skip
# Signals by number of a process or thread, and which of the arguments are such numbers.
_SIGNALS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "kill": (62, 129, (0,)), "tkill": (200, 130, (0,)), "tgkill": (234, 131, (0, 1)),
    "rt_sigqueueinfo": (129, 138, (0,)), "rt_tgsigqueueinfo": (297, 240, (0, 1)),
    "pidfd_open": (434, 434, (0,)),
}  # fmt: skip
# The priority of other processes: the argument that is 0 for the caller itself.
_PRIORITIES = {
    "sched_setscheduler": (144, 119, 0), "sched_setparam": (142, 118, 0), "sched_setattr": (314, 274, 0),
    "sched_setaffinity": (203, 122, 0),
}  # fmt: skip
# The same, where a kind of number precedes it, and the kind for which 0 means all the user's processes.
_PRIORITIES_BY_KIND = {"setpriority": (141, 140, 2), "ioprio_set": (251, 30, 3)}
_PRLIMIT, _FCNTL, _SOCKETPAIR = (302, 261), (72, 25), (53, 199)
_TRUNCATE = (76, 45)
_OPENS = {"open": (2, 0, 1), "openat": (257, 56, 2)}  # and which argument has the flags

# F_SETOWN, F_SETSIG, F_SETOWN_EX: a signal, sent by the kernel. F_SETLEASE makes others wait before they may
# write. F_SET_RW_HINT, F_SET_FILE_RW_HINT stay with the file.
_COMMANDS = (8, 10, 15, 1024, 1036, 1038)
_REQUESTS = (
    *TYPED_INPUT,
    0x8901, 0x8902,  # FIOSETOWN, SIOCSPGRP
    0x800C6613,  # FS_IOC_SET_ENCRYPTION_POLICY, which says of itself that it returns something
)  # fmt: skip
# Requests to file systems that change something through a file open for reading, unknown to Landlock:
# attributes, keys of encrypted folders, snapshots. Of some kinds (`f`, `v`, `X`) only those are allowed that
# return something, and FIEMAP; of others (btrfs, f2fs, bcachefs, cifs) none.
_KIND_OF_REQUEST, _DIRECTION, _RETURNS, _FIEMAP = 0xFF00, 0xC0000000, 0x80000000, 0xC020660B
_ASKING = (0x6600, 0x7600, 0x5800)
_CHANGING = (0x9400, 0xF500, 0xBC00, 0xCF00)
_UNIX, _STREAMS = 1, (1, 5)  # stream and sequenced packets; datagrams could be sent to any other socket
_KIND = 0xF
_O_TRUNC = 0o1000


def beginning(machine: str, *, abi: int) -> bytes:
    """Return the beginning of the filter, which is the same for all shims, for a version of Landlock."""
    return b"".join(_fixed(machine, list(ARCHITECTURES).index(machine), abi))


def program(beginning: bytes, machine: str, *, protected: tuple[int, ...]) -> bytes:
    """Return the filter, as the kernel reads it.

    `protected` are numbers of threads and processes that no signal may be sent to.
    """
    column = list(ARCHITECTURES).index(machine)
    lines = []
    for *known, arguments in _SIGNALS.values():
        checks = [
            line
            for argument in arguments
            for line in (
                load(argument),
                *[each for number in protected for each in (op(EQUAL, number, 0, 1), refuse())],
            )
        ]
        lines += on(known[column], [*checks, allow()])
    return beginning + b"".join([*lines, allow()])


def _fixed(machine: str, column: int, abi: int) -> list[bytes]:
    lines = opening(machine)
    for table, error in (
        (REFUSED, errno.EPERM),
        (_REFUSED, errno.EPERM),
        (_SOCKETS, errno.EACCES),
        (MISSING, errno.ENOSYS),
    ):
        for numbers in table.values():
            if numbers[column]:
                lines += on(numbers[column], [refuse(error)])
    for *known, argument in _PRIORITIES.values():
        lines += on(known[column], [load(argument), op(EQUAL, 0, 1, 0), refuse(), allow()])
    # Limits of another process; a new limit is a pointer, of which both halves count.
    new = [load(2), op(EQUAL, 0, 0, 2), load_upper(2), op(EQUAL, 0, 1, 0), refuse(), allow()]
    lines += on(_PRLIMIT[column], [load(0), op(EQUAL, 0, 5, 0), *new])
    lines += on(CLONE[column], [load(0), op(SET, NEW_NAMESPACES, 0, 1), refuse(), allow()])
    family = [load(0), op(EQUAL, _UNIX, 1, 0), refuse(errno.EACCES)]
    kind = [
        load(1),
        op(AND, _KIND),
        *[op(EQUAL, each, 2 - at, 0) for at, each in enumerate(_STREAMS)],
    ]
    lines += on(_SOCKETPAIR[column], [*family, *kind, refuse(errno.EACCES), allow()])
    for *known, everyone in _PRIORITIES_BY_KIND.values():
        others = [load(1), op(EQUAL, 0, 1, 0), refuse(), allow()]
        lines += on(known[column], [load(0), op(EQUAL, everyone, 0, 1), refuse(), *others])
    found = [op(EQUAL, each, len(_COMMANDS) - at, 0) for at, each in enumerate(_COMMANDS)]
    lines += on(_FCNTL[column], [load(1), *found, allow(), refuse()])
    lines += on(IOCTL[column], _on_request())
    if abi < 3:  # Landlock does not know yet that files can be emptied
        lines += on(_TRUNCATE[column], [refuse()])
        for *known, flags in _OPENS.values():
            if known[column]:
                empties = [load(flags), op(SET, _O_TRUNC, 0, 2), op(SET, 3, 1, 0), refuse()]
                lines += on(known[column], [*empties, allow()])
    return lines


def _on_request() -> list[bytes]:
    """Return the lines for a request to a file or device."""
    returns = [op(AND, _DIRECTION), op(EQUAL, _RETURNS, 0, 1)]
    allowed = [load(1), op(EQUAL, _FIEMAP, len(returns), 0), *returns, allow(), refuse()]
    lines = [load(1)]
    for each in _REQUESTS:
        lines += [op(EQUAL, each, 0, 1), refuse()]
    lines += [op(AND, _KIND_OF_REQUEST)]
    for each in _CHANGING:
        lines += [op(EQUAL, each, 0, 1), refuse()]
    for each in _ASKING:
        lines += [op(EQUAL, each, 0, len(allowed)), *allowed]
    return [*lines, allow()]
