"""The system calls that are refused to a command that may only read, as a program for the kernel.

Landlock keeps it from writing to files; this closes what Landlock leaves open: sockets of every kind, modes,
owners, times and attributes of files, other processes, memory and queues shared by number, and the parts of
the kernel that a reader does not need.
"""

from __future__ import annotations

import errno
import struct

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_OTHER_ABI = 0x40000000  # x32 on x86-64

# Refused whatever the arguments are: x86-64, then aarch64 (0 where there is no such call).
_REFUSED: dict[str, tuple[int, int]] = {
    # Modes, owners, times and attributes of files.
    "chmod": (90, 0), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, 0), "fchown": (93, 55), "lchown": (94, 0), "fchownat": (260, 54),
    "utime": (132, 0), "utimes": (235, 0), "futimesat": (261, 0), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "removexattrat": (466, 466), "file_setattr": (469, 469),
    # Mounts and namespaces.
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "unshare": (272, 97),
    "setns": (308, 268),
    # Other processes. A thread of the shim has the same walls, so Landlock does not keep these from it.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # What processes share by number or name.
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189),
    "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # The kernel and the machine.
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "fanotify_init": (300, 262), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "sethostname": (170, 161), "setdomainname": (171, 162), "syslog": (103, 116), "vhangup": (153, 58),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "iopl": (172, 0), "ioperm": (173, 0),
}  # fmt: skip
# Sockets: a pair that a process makes for itself is all that is left.
_SOCKETS = {
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242),
}  # fmt: skip
# The C library does without these, whose arguments are out of a filter's sight.
_MISSING = {"clone3": (435, 435), "openat2": (437, 437)}
# Signals by number of a process or thread, and which of the arguments are such numbers.
_SIGNALS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "kill": (62, 129, (0,)), "tkill": (200, 130, (0,)), "tgkill": (234, 131, (0, 1)),
    "rt_sigqueueinfo": (129, 138, (0,)), "rt_tgsigqueueinfo": (297, 240, (0, 1)),
    "pidfd_open": (434, 434, (0,)),
}  # fmt: skip
# The priority of other processes: the argument that is 0 for the caller itself.
_PRIORITIES = {
    "setpriority": (141, 140, 1), "ioprio_set": (251, 30, 1), "sched_setscheduler": (144, 119, 0),
    "sched_setparam": (142, 118, 0), "sched_setattr": (314, 274, 0), "sched_setaffinity": (203, 122, 0),
}  # fmt: skip
_PRLIMIT, _FCNTL, _IOCTL = (302, 261), (72, 25), (16, 29)
_CLONE, _SOCKETPAIR = (56, 220), (53, 199)
_TRUNCATE = (76, 45)
_OPENS = {"open": (2, 0, 1), "openat": (257, 56, 2)}  # and which argument has the flags

_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWUSER, NEWPID, NEWNET, NEWNS, NEWUTS, NEWIPC, NEWCGROUP
_OWNER = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX: a signal, sent by the kernel
_REQUESTS = (
    0x5412, 0x541C,  # TIOCSTI, TIOCLINUX: input for whoever reads the terminal next
    0x8901, 0x8902,  # FIOSETOWN, SIOCSPGRP
    # FS_IOC_SETFLAGS, FSSETXATTR, SETVERSION, ENABLE_VERITY, SET_ENCRYPTION_POLICY: a file that is open for
    # reading is enough.
    0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40806685, 0x800C6613,
)  # fmt: skip
_UNIX, _STREAMS = 1, (1, 5)  # stream and sequenced packets; datagrams could be sent to any other socket
_KIND = 0xF
_O_TRUNC = 0o1000

_LOAD, _EQUAL, _SET, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_head: dict[tuple[str, int], bytes] = {}


def is_known(machine: str) -> bool:
    """Return whether there is a program for this kind of processor."""
    return machine in _ARCHITECTURES


def program(machine: str, *, abi: int, protected: tuple[int, ...]) -> bytes:
    """Return the filter, as the kernel reads it, for a version of Landlock.

    `protected` are numbers of threads and processes that no signal may be sent to.
    """
    column = list(_ARCHITECTURES).index(machine)
    head = _head.get((machine, abi))
    if head is None:
        head = _head[machine, abi] = b"".join(_fixed(machine, column, abi))
    lines = []
    for *known, arguments in _SIGNALS.values():
        checks = [
            line
            for argument in arguments
            for line in (
                _argument(argument),
                *[each for number in protected for each in (_op(_EQUAL, number, 0, 1), _refuse())],
            )
        ]
        lines += _on(known[column], [*checks, _allow()])
    return head + b"".join([*lines, _allow()])


def _fixed(machine: str, column: int, abi: int) -> list[bytes]:
    lines = [
        _op(_LOAD, 4),
        _op(_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _refuse(errno.ENOSYS),
        _op(_LOAD, 0),
    ]
    if machine == "x86_64":
        lines += [_op(_SET, _OTHER_ABI, 0, 1), _refuse(errno.ENOSYS)]
    for table, error in ((_REFUSED, errno.EPERM), (_SOCKETS, errno.EACCES), (_MISSING, errno.ENOSYS)):
        for numbers in table.values():
            if numbers[column]:
                lines += _on(numbers[column], [_refuse(error)])
    for *known, argument in _PRIORITIES.values():
        lines += _on(known[column], [_argument(argument), _op(_EQUAL, 0, 1, 0), _refuse(), _allow()])
    # Limits of another process; a new limit is a pointer, of which both halves count.
    new = [_argument(2), _op(_EQUAL, 0, 0, 2), _upper(2), _op(_EQUAL, 0, 1, 0), _refuse(), _allow()]
    lines += _on(_PRLIMIT[column], [_argument(0), _op(_EQUAL, 0, 5, 0), *new])
    lines += _on(_CLONE[column], [_argument(0), _op(_SET, _NEW_NAMESPACES, 0, 1), _refuse(), _allow()])
    family = [_argument(0), _op(_EQUAL, _UNIX, 1, 0), _refuse(errno.EACCES)]
    kind = [
        _argument(1),
        _op(_AND, _KIND),
        *[_op(_EQUAL, each, 2 - at, 0) for at, each in enumerate(_STREAMS)],
    ]
    lines += _on(_SOCKETPAIR[column], [*family, *kind, _refuse(errno.EACCES), _allow()])
    for numbers, values in ((_FCNTL, _OWNER), (_IOCTL, _REQUESTS)):
        found = [_op(_EQUAL, each, len(values) - at, 0) for at, each in enumerate(values)]
        lines += _on(numbers[column], [_argument(1), *found, _allow(), _refuse()])
    if abi < 3:  # Landlock does not know yet that files can be emptied
        lines += _on(_TRUNCATE[column], [_refuse()])
        for *known, flags in _OPENS.values():
            if known[column]:
                empties = [_argument(flags), _op(_SET, _O_TRUNC, 0, 2), _op(_SET, 3, 1, 0), _refuse()]
                lines += _on(known[column], [*empties, _allow()])
    return lines


def _on(number: int, lines: list[bytes]) -> list[bytes]:
    """Return lines that apply to one system call; they end in a return."""
    return [_op(_EQUAL, number, 0, len(lines)), *lines]


def _argument(index: int) -> bytes:
    return _op(_LOAD, 16 + 8 * index)  # its lower half


def _upper(index: int) -> bytes:
    return _op(_LOAD, 20 + 8 * index)


def _allow() -> bytes:
    return _op(_RETURN, _ALLOW)


def _refuse(error: int = errno.EPERM) -> bytes:
    return _op(_RETURN, _ERROR | error)


def _op(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)
