"""Landlock: restrict a thread, and everything that it starts, to reading.

Rules apply to one thread only, so a shim restricts the one that starts commands and stays free itself.
Nothing lifts them again.
"""

from __future__ import annotations

import os
import struct

from errands.ports.seccomp import is_known
from errands.runners.system import read_only_filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_SET_DUMPABLE, _GET_SECCOMP, _SET_SECCOMP, _NO_NEW_PRIVILEGES = 4, 21, 22, 38
_CAPABILITIES = 0x20080522  # the version of the structures of `capset`
_READ_ALL = 1 << 2  # CAP_DAC_READ_SEARCH: without it root could not read what belongs to others

_WRITE, _READ, _TRUNCATE, _IOCTL = 1 << 1, 1 << 2, 1 << 14, 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11
# Write, remove, create, rename, truncate.
_WRITES = _WRITE | sum(1 << bit for bit in range(4, 15))
_NETWORK, _SCOPES = 3, 3  # bind and connect; abstract sockets and signals


class Walls:
    """What the kernel offers, loaded once before any fork; `why_not` says why it is not enough."""

    def __init__(self) -> None:
        import _ctypes  # `ctypes` itself would make every shim larger

        library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # None: this process
        self._call = _ctypes.call_function
        self._syscall, self._prctl, self._capset = (
            _ctypes.dlsym(library, name) for name in ("syscall", "prctl", "capset")
        )
        self._machine = os.uname().machine
        self.abi = max(0, self._call(self._syscall, (_CREATE_RULESET, None, 0, 1)))
        self.why_not = self._why_not()
        self._beginning = b"" if self.why_not else read_only_filter.beginning(self._machine, abi=self.abi)

    def _why_not(self) -> str:
        if not self.abi:
            return "the kernel has no Landlock, or it is switched off"
        if not is_known(self._machine):
            return f"system calls cannot be filtered on {self._machine}"
        if self._call(self._prctl, (_GET_SECCOMP, 0, 0, 0, 0)) < 0:
            return "the kernel has no seccomp"
        return ""

    def hide_memory(self) -> None:
        """Keep commands from reading or tracing this process, whose threads they may share walls with."""
        self._call(self._prctl, (_SET_DUMPABLE, 0, 0, 0, 0))

    def restrict_thread(self, rules: int, *, thread: int, process: int) -> None:
        """Restrict the calling thread for good; its own numbers are protected from signals."""
        program = read_only_filter.program(self._beginning, self._machine, protected=(thread, process))
        # struct sock_fprog: the number of instructions, and where they are. A bytes object holds its content
        # at its end, before a final zero.
        place = struct.pack("HP", len(program) // 8, id(program) + bytes.__basicsize__ - 1)
        if (
            self._call(self._prctl, (_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
            or self._call(self._syscall, (_RESTRICT_SELF, rules, 0))
            or not self._drop_capabilities()
            or self._call(self._prctl, (_SET_SECCOMP, 2, place, 0, 0))
        ):
            raise OSError(0, "the kernel refused the walls around a command")

    def _drop_capabilities(self) -> bool:
        header = struct.pack("Ii", _CAPABILITIES, 0)
        return any(
            self._call(self._capset, (header, struct.pack("6I", kept, kept, 0, 0, 0, 0))) == 0
            for kept in (_READ_ALL, 0)
        )

    def ruleset(self, *, readable: Iterable[str], writable: Iterable[str], terminals: Iterable[str]) -> int:
        """Return rules that allow reading and writing below some paths, and writing to some terminals.

        Nothing else can be opened, but all directories can be listed.
        """
        abi = self.abi
        known = _WRITES & ((1 << {1: 13, 2: 14}.get(abi, 15)) - 1) | (_IOCTL if abi >= 5 else 0)
        known |= _READ
        size = 24 if abi >= 6 else 16 if abi >= 4 else 8
        rules: int = self._call(
            self._syscall, (_CREATE_RULESET, struct.pack("QQQ", known, _NETWORK, _SCOPES)[:size], size, 0)
        )
        if rules < 0:
            raise OSError(0, "the kernel refused the walls around a command")
        try:
            # /dev/tty is the opening process's own terminal; it has one only if the run was given one.
            for path in ("/dev/null", "/dev/tty", *terminals):
                self._allow(rules, path, (_WRITE | _TRUNCATE | _IOCTL) & known)
            for path in writable:
                self._allow(rules, path, (_WRITES & ~_MAKE_DEVICES | _READ) & known)
            for path in readable:
                try:
                    self._allow(rules, path, _READ, os.O_NOFOLLOW)
                except (FileNotFoundError, NotADirectoryError, PermissionError):
                    continue  # it is gone again, or in a directory that may only be listed
        except BaseException:
            os.close(rules)
            raise
        return rules

    def _allow(self, rules: int, path: str, access: int, flags: int = 0) -> None:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC | flags)
        try:
            if self._call(self._syscall, (_ADD_RULE, rules, 1, struct.pack("=Qi", access, file), 0)):
                raise OSError(0, f"the kernel refused a rule about {path}")
        finally:
            os.close(file)
