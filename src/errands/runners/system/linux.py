"""Linux: supervision with subreapers, `/proc` and pidfds.

A subreaper inherits the orphans of its descendants, so a double fork does not leave the tree; `/proc` lists
its members; a pidfd keeps naming the same process even if its pid is reused.
"""

from __future__ import annotations

import fcntl
import os
import time

from errands.runners.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.runners.system.landlock import Walls

    _prctl: int

NAME = "linux"
WEAKNESSES: tuple[str, ...] = ()
CLOCK_STEP = 0.01
INHERITS_ORPHANS = True
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")

_walls: Walls | None = None
_SET_CHILD_SUBREAPER = 36
_SET_PIPE_SIZE = 1031


def prepare_subreaper() -> None:
    global _prctl
    import _ctypes  # `ctypes` itself would make every shim larger

    _prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]  # None: this process


def become_subreaper() -> None:
    import _ctypes

    _ctypes.call_function(_prctl, (_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def walls() -> Walls:
    global _walls
    if _walls is None:
        from errands.runners.system.landlock import Walls

        _walls = Walls()
    return _walls


def missing_walls() -> str:
    return walls().why_not


def boot_id() -> str:
    path = os.environ.get("ERRANDS_BOOT_ID_FILE", "/proc/sys/kernel/random/boot_id")
    return _read(path).decode().strip()


def clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def start_time(pid: int) -> float | None:
    stat = _stat(pid)
    return int(stat[19]) / TICKS if stat else None


def is_alive(pid: int) -> bool:
    stat = _stat(pid)
    return bool(stat) and stat[0] not in b"ZX"


def activity(pid: int) -> str:
    stat = _stat(pid)
    if not stat or stat[0] in b"TtZX":
        return "stopped"
    return "blocked" if stat[0] == b"D" else "active"


def children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    lists = (_read(f"/proc/{pid}/task/{thread}/children") for thread in threads)
    return [int(child) for known in lists for child in known.split()]


def descendants(root: int, *, groups: Iterable[int] = (), most: int = 1 << 22) -> list[int]:
    # `groups` adds nothing: the subreaper inherits every process that leaves the tree.
    found: dict[int, None] = {}
    level = [root]
    while level and len(found) < most:
        level = [child for pid in level for child in children(pid) if child not in found]
        found.update(dict.fromkeys(level))
    return list(found)


def marked(variable: str, value: str) -> list[int]:
    marker = f"\0{variable}={value}\0".encode("utf-8", "surrogateescape")
    return [pid for pid in _processes() if marker in b"\0" + _read(f"/proc/{pid}/environ") + b"\0"]


def session(leader: int) -> list[int]:
    number = str(leader).encode()
    return [pid for pid in _processes() if (stat := _stat(pid)) and stat[3] == number]


def ancestors(pid: int) -> list[int]:
    found: list[int] = []
    while (stat := _stat(pid)) and (pid := int(stat[1])) > 1:
        found.append(pid)
    return found


def usage(pids: Iterable[int]) -> tuple[int, float]:
    pages = ticks = 0
    for pid in pids:
        if stat := _stat(pid):
            pages += int(stat[21])
            # User and system time, each also of the children that it has reaped.
            ticks += int(stat[11]) + int(stat[12]) + int(stat[13]) + int(stat[14])
    return pages * PAGE, ticks / TICKS


def memory(pids: Iterable[int]) -> int:
    total = 0
    for pid in pids:
        for entry in _read(f"/proc/{pid}/smaps_rollup").split(b"\n"):
            if entry.startswith(b"Pss:"):
                total += int(entry.split()[1]) * 1024
    return total


def widen(pipe: int, size: int) -> bool:
    try:
        fcntl.fcntl(pipe, _SET_PIPE_SIZE, size)
    except OSError:
        return False
    return True


def watch(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def signal_shim(watched: int | None, pid: int, number: int) -> None:
    if watched is None:
        return
    try:
        signal.pidfd_send_signal(watched, number)
    except OSError:
        pass  # it has exited, which is what the signal was for


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _stat(pid: int) -> list[bytes]:
    # The name in brackets may contain blanks and brackets; the fields follow the last bracket.
    return _read(f"/proc/{pid}/stat").rpartition(b") ")[2].split()


def _read(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        content = piece = os.read(file, 65536)
        while len(piece) == 65536 or (piece and path.endswith(("environ", "children"))):
            piece = os.read(file, 65536)
            content += piece
        return content
    except OSError:
        return b""
    finally:
        os.close(file)
