"""Plain POSIX: supervision by process groups and `ps`, for systems without subreapers and `/proc`.

Here init inherits orphans, so a process that leaves both its parent and its process group is not found again.
Everything else works: run records, capture, time-outs, ending the group.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.runners.system.landlock import Walls

NAME = "process groups and ps"
WEAKNESSES: tuple[str, ...] = (
    "a process that detaches itself (setsid) outlives its task, also when that is cancelled",
    "shared memory counts once per process",
    "CPU limits are exact to a second",
)
CLOCK_STEP = 1.5
INHERITS_ORPHANS = False

_FIELDS = ("pid", "ppid", "pgid", "stat", "rss", "time")
_processes: dict[int, tuple[int, int, str, int, float]] = {}


def prepare_subreaper() -> None: ...


def become_subreaper() -> None: ...


def walls() -> Walls:
    raise OSError(missing_walls())


def missing_walls() -> str:
    return "only Linux has them"


def boot_id() -> str:
    if path := os.environ.get("ERRANDS_BOOT_ID_FILE"):
        with open(path) as file:
            return file.read().strip()
    return "-".join(_ps("-p", "1", "-o", "lstart=").split())


def clock() -> float:
    return time.time()


def start_time(pid: int) -> float | None:
    elapsed = _ps("-p", str(pid), "-o", "etime=").strip()
    return time.time() - _seconds(elapsed) if elapsed else None


def is_alive(pid: int) -> bool:
    # As of the last `ps`: asking again for every process would be slow.
    return pid in _processes and not _processes[pid][2].startswith("Z")


def activity(pid: int) -> str:
    # As of the last `ps`, likewise.
    state = _processes[pid][2][:1] if pid in _processes else "Z"
    return "stopped" if state in "TZ" else "blocked" if state in "DU" else "active"


def children(pid: int) -> list[int]:
    _list_processes()
    return [child for child, facts in _processes.items() if facts[0] == pid]


def descendants(root: int, *, groups: Iterable[int] = (), most: int = 1 << 22) -> list[int]:
    _list_processes()
    wanted = set(groups)
    found = dict.fromkeys(pid for pid, facts in _processes.items() if facts[1] in wanted)
    level = [root, *found]
    while level:
        parents = set(level)
        level = [pid for pid, facts in _processes.items() if facts[0] in parents and pid not in found]
        found.update(dict.fromkeys(level))
    return list(found)[:most]


def marked(variable: str, value: str) -> list[int]:
    marker = f" {variable}={value} "
    everything = "-axEww" if sys.platform == "darwin" else "axeww"
    lines = (line.split(None, 1) for line in _ps(everything, "-o", "pid=", "-o", "command=").split("\n"))
    return [int(line[0]) for line in lines if len(line) == 2 and marker in line[1] + " "]


def session(leader: int) -> list[int]:
    _list_processes()  # the process group of the command stands in for its session
    return [pid for pid, facts in _processes.items() if facts[1] == leader]


def ancestors(pid: int) -> list[int]:
    _list_processes()
    found: list[int] = []
    while pid in _processes and (pid := _processes[pid][0]) > 1:
        found.append(pid)
    return found


def usage(pids: Iterable[int]) -> tuple[int, float]:
    facts = [_processes[pid] for pid in pids if pid in _processes]
    return sum(fact[3] for fact in facts) * 1024, sum(fact[4] for fact in facts)


def memory(pids: Iterable[int]) -> int:
    return 0  # shared memory cannot be measured here


def widen(pipe: int, size: int) -> bool:
    return False


def watch(pid: int) -> int | None:
    return None  # a process cannot be watched here; the pool polls its lock instead


def signal_shim(watched: int | None, pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it has exited, which is what the signal was for


def _list_processes() -> None:
    _processes.clear()
    columns = [word for field in _FIELDS for word in ("-o", f"{field}=")]
    for line in _ps("-ax" if sys.platform == "darwin" else "-e", *columns).split("\n"):
        words = line.split()
        if len(words) == len(_FIELDS):
            pid, parent, group, state, rss, used = words
            _processes[int(pid)] = int(parent), int(group), state, int(rss), _seconds(used)


def _seconds(text: str) -> float:
    """Parse `[days-][hours:]minutes:seconds`."""
    days, _, rest = text.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)


def _ps(*words: str) -> str:
    """Run `ps` and return its output, without the line about itself."""
    reading, writing = os.pipe()
    program = "/bin/ps" if os.path.exists("/bin/ps") else "/usr/bin/ps"
    try:
        pid = os.posix_spawn(
            program,
            ["ps", *words],
            {"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
            file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)],
        )
    except OSError:
        os.close(reading)
        return ""
    finally:
        os.close(writing)
    output = piece = os.read(reading, 65536)
    while piece:
        piece = os.read(reading, 65536)
        output += piece
    os.close(reading)
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass  # other code in this process waits for all children
    own = str(pid)
    lines = output.decode("utf-8", "replace").split("\n")
    return "\n".join(line for line in lines if line.split(None, 1)[:1] != [own])
