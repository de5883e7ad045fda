"""The system calls that are refused in a sandbox, as a program for the kernel.

Namespaces and mounts keep a sandbox apart; this closes what they leave open: new namespaces and mounts, parts
of the kernel that few programs need, kinds of sockets that no namespace covers, setuid files, and input for
the terminal that the sandbox shares. Tracing is allowed: debuggers and sanitizers need it, and there is
nothing to trace but the sandbox itself.
"""

from __future__ import annotations

import errno
import struct

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_OTHER_ABI = 0x40000000  # x32 on x86-64

# Refused whatever the arguments are: x86-64, then aarch64 (0 where there is no such call).
_REFUSED: dict[str, tuple[int, int]] = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "unshare": (272, 97), "setns": (308, 268),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "sethostname": (170, 161),
    "setdomainname": (171, 162), "syslog": (103, 116), "vhangup": (153, 58),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "iopl": (172, 0), "ioperm": (173, 0),
}  # fmt: skip
# The C library does without these, whose arguments are out of a filter's sight.
_MISSING = {"clone3": (435, 435), "openat2": (437, 437)}
# The call, and which of its arguments is the mode of a file.
_MODES = {
    "chmod": (90, 0, 1), "fchmod": (91, 52, 1), "fchmodat": (268, 53, 2), "fchmodat2": (452, 452, 2),
    "mknod": (133, 0, 1), "mknodat": (259, 33, 2), "creat": (85, 0, 1),
}  # fmt: skip
# The same where the mode, which follows the flags, counts only for a new file.
_OPENS = {"open": (2, 0, 1), "openat": (257, 56, 2)}
_CREATES = 0x400040  # O_CREAT, O_TMPFILE
_SET_ID = 0o6000
_CLONE, _SOCKET, _IOCTL = (56, 220), (41, 198), (16, 29)
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWUSER, NEWPID, NEWNET, NEWNS, NEWUTS, NEWIPC, NEWCGROUP
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: input for whoever reads the terminal next

_LOAD, _EQUAL, _SET, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def is_known(machine: str) -> bool:
    """Return whether there is a program for this kind of processor."""
    return machine in _ARCHITECTURES


def program(machine: str) -> bytes:
    """Return the filter for a kind of processor, as the kernel reads it."""
    column = list(_ARCHITECTURES).index(machine)
    refuse = [_op(_RETURN, _ERROR | errno.EPERM)]
    lines = [
        _op(_LOAD, 4),
        _op(_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _op(_RETURN, _ERROR | errno.ENOSYS),
        _op(_LOAD, 0),
    ]
    if machine == "x86_64":
        lines += [_op(_SET, _OTHER_ABI, 0, 1), _op(_RETURN, _ERROR | errno.ENOSYS)]
    for number in (each[column] for each in _REFUSED.values()):
        if number:
            lines += _on(number, refuse)
    for numbers in _MISSING.values():
        lines += _on(numbers[column], [_op(_RETURN, _ERROR | errno.ENOSYS)])
    for *known, argument in _MODES.values():
        if known[column]:
            lines += _on(known[column], [_argument(argument), _op(_SET, _SET_ID, 0, 1), *refuse, _allow()])
    for *known, flags in _OPENS.values():
        if known[column]:
            creates = [_argument(flags), _op(_SET, _CREATES, 0, 3), _argument(flags + 1)]
            lines += _on(known[column], [*creates, _op(_SET, _SET_ID, 0, 1), *refuse, _allow()])
    lines += _on(_CLONE[column], [_argument(0), _op(_SET, _NEW_NAMESPACES, 0, 1), *refuse, _allow()])
    families = [_op(_EQUAL, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)]
    refuse_family = _op(_RETURN, _ERROR | errno.EAFNOSUPPORT)
    lines += _on(_SOCKET[column], [_argument(0), *families, refuse_family, _allow()])
    requests = [_op(_EQUAL, request, len(_TERMINAL) - at, 0) for at, request in enumerate(_TERMINAL)]
    lines += _on(_IOCTL[column], [_argument(1), *requests, _allow(), *refuse])
    return b"".join([*lines, _allow()])


def _on(number: int, lines: list[bytes]) -> list[bytes]:
    """Return lines that apply to one system call; they end in a return."""
    return [_op(_EQUAL, number, 0, len(lines)), *lines]


def _argument(index: int) -> bytes:
    return _op(_LOAD, 16 + 8 * index)  # its lower half


def _allow() -> bytes:
    return _op(_RETURN, _ALLOW)


def _op(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)
