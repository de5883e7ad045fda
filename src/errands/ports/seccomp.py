"""Filters of system calls: the words they are written in, and the calls that every wall refuses.

A filter is a program for the kernel, a classic BPF program, that looks at each system call of a process.
"""

from __future__ import annotations

import errno
import struct

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_OTHER_ABI = 0x40000000  # x32 on x86-64

# New mounts and namespaces, and what few programs need of the kernel: x86-64, then aarch64 (0 where there is
# no such call).
REFUSED: dict[str, tuple[int, int]] = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "unshare": (272, 97),
    "setns": (308, 268), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "sethostname": (170, 161), "setdomainname": (171, 162),
    "syslog": (103, 116), "vhangup": (153, 58), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "iopl": (172, 0), "ioperm": (173, 0),
}  # fmt: skip
# The C library does without these, whose arguments are out of a filter's sight.
MISSING = {"clone3": (435, 435), "openat2": (437, 437)}
CLONE, IOCTL = (56, 220), (16, 29)
NEW_NAMESPACES = 0x7E020000  # CLONE_NEWUSER, NEWPID, NEWNET, NEWNS, NEWUTS, NEWIPC, NEWCGROUP
TYPED_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: input for the terminal's next reader

LOAD, EQUAL, SET, AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def is_known(machine: str) -> bool:
    """Return whether filters can be written for this kind of processor."""
    return machine in ARCHITECTURES


def opening(machine: str) -> list[bytes]:
    """Return how every filter begins: it refuses another architecture and loads the number of the call."""
    lines = [op(LOAD, 4), op(EQUAL, ARCHITECTURES[machine], 1, 0), refuse(errno.ENOSYS), op(LOAD, 0)]
    if machine == "x86_64":
        lines += [op(SET, _OTHER_ABI, 0, 1), refuse(errno.ENOSYS)]
    return lines


def on(number: int, lines: list[bytes]) -> list[bytes]:
    """Return lines that apply to one system call; they end in a return."""
    return [op(EQUAL, number, 0, len(lines)), *lines]


def load(index: int) -> bytes:
    return op(LOAD, 16 + 8 * index)  # its lower half


def load_upper(index: int) -> bytes:
    return op(LOAD, 20 + 8 * index)


def allow() -> bytes:
    return op(_RETURN, _ALLOW)


def refuse(error: int = errno.EPERM) -> bytes:
    return op(_RETURN, _ERROR | error)


def op(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """Return one line: jump `then` or `otherwise` lines ahead, if the code compares."""
    return struct.pack("HBBI", code, then, otherwise, value)
