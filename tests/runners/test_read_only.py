"""Runs that may only read: what they can do behind their walls and what they cannot, with the real kernel."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from errands.runners.system import linux
from tests.runners.stage import Stage, until

HERE = Path(__file__)
NOBODY = 65534
ATTEMPTS = 180  # at least
walled = pytest.mark.skipif(bool(linux.missing_walls()), reason=linux.missing_walls())
scoped = linux.walls().abi >= 6


class Outside:
    """What is outside of the walls, and must not change: files, sockets, a process, a terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "file"
        self.file.write_text("untouched\n")
        os.utime(self.file, (1000, 1000))
        (folder / "empty").mkdir()
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        self.sockets = {
            "tcp": socket.create_server(("127.0.0.1", 0)),
            "udp": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            "stream": socket.socket(socket.AF_UNIX),
            "datagrams": socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
            "abstract": socket.socket(socket.AF_UNIX),
        }
        self.sockets["udp"].bind(("127.0.0.1", 0))
        self.sockets["stream"].bind(str(folder / "stream"))
        self.sockets["datagrams"].bind(str(folder / "datagrams"))
        self.sockets["abstract"].bind(f"\0errands-{os.getpid()}")
        for name in ("stream", "abstract"):
            self.sockets[name].listen()
        for each in self.sockets.values():
            each.setblocking(False)
        self.victim = subprocess.Popen(["sleep", "1000"])
        self.terminal, self._theirs = pty.openpty()
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o777)  # what keeps a command out must be the walls
        Path(os.ttyname(self._theirs)).chmod(0o666)
        self._before = self._files(), self._victim()

    def places(self, **more: Any) -> str:
        return json.dumps(
            {
                "file": str(self.file),
                "folder": str(self.folder),
                "tcp": self.sockets["tcp"].getsockname()[1],
                "udp": self.sockets["udp"].getsockname()[1],
                "stream": str(self.folder / "stream"),
                "datagrams": str(self.folder / "datagrams"),
                "abstract": f"errands-{os.getpid()}",
                "victim": self.victim.pid,
                "terminal": os.ttyname(self._theirs),
                "scoped": scoped,
                **more,
            }
        )

    def change(self) -> list[str]:
        """Return what has changed."""
        changes = [f"{self._before[0]} -> {now}" for now in (self._files(),) if now != self._before[0]]
        changes += [name for name, each in self.sockets.items() if _is_reached(each)]
        if self.victim.poll() is not None or self._victim() != self._before[1]:
            changes.append("the victim")
        return changes

    def close(self) -> None:
        for each in self.sockets.values():
            each.close()
        self.victim.kill()
        self.victim.wait()
        os.close(self.terminal)
        os.close(self._theirs)

    def _files(self) -> dict[str, object]:
        return {
            str(path): (
                path.lstat().st_mode,
                path.lstat().st_uid,
                path.lstat().st_mtime,
                path.lstat().st_nlink,
                path.read_bytes() if path.is_file() else b"",
                os.listxattr(path, follow_symlinks=False),
            )
            for path in (self.folder, *sorted(self.folder.rglob("*")))
        }

    def _victim(self) -> tuple[object, ...]:
        pid = self.victim.pid
        limits = Path(f"/proc/{pid}/limits").read_text()
        return limits, os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid)


def _is_reached(found: socket.socket) -> bool:
    try:
        if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            found.accept()[0].close()
        else:
            found.recv(100)
    except BlockingIOError:
        return False
    return True


@pytest.fixture
def outside() -> Iterator[Outside]:
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    found = Outside(folder)
    yield found
    found.close()
    shutil.rmtree(folder)


# The shim of an ordinary user, who may not be able to start this Python or to read our source: it becomes
# that user once all is loaded.
_USER_SHIM = """
import ctypes, os, socket, sys
from errands.ports.runner import Launch, Step
from errands.runners.shim import read_only
from errands.runners.shim.shim import Shim
from errands.runners.shim.wire import frame, start_message
from errands.runners.system import landlock, linux, read_only_filter
user, directory, *argv = sys.argv[1:]
linux.prepare_subreaper()
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # a new program could be traced, which is up to the shim
ours, theirs = socket.socketpair()
shim = Shim(linux, theirs.detach(), boot="x")
launch = Launch(
    run_id="a.1", attempt=1, directory=f"{directory}/runs/a.1", header=b"", cwd="/", cap=1 << 20, grace=1.0,
    steps=(Step(role="main", argv=tuple(argv), label=""),), env={"ERRANDS_RUN_DIR": f"{directory}/runs/a.1"},
    read_only=True,
)
os.mkdir(f"{directory}/runs", 0o700)
ours.send(frame(start_message(launch)))
shim.take_turn()
shim.take_turn()
with open(f"{directory}/runs/a.1/output.log") as file:
    print(file.read())
"""


def run_as_nobody(*argv: str) -> str:
    """Run a command behind the walls of a shim that an ordinary user owns; return what it printed."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chown(folder, NOBODY, NOBODY)
        shim = [sys.executable, "-c", _USER_SHIM, str(NOBODY), folder, *argv]
        return subprocess.run(shim, capture_output=True, text=True, timeout=100, check=True).stdout


def went_through(output: str) -> list[str]:
    return [line.rpartition(":")[0] for line in output.splitlines() if line.endswith(": went through")]


def escape(outside: Outside) -> tuple[str, ...]:
    """Return a command that tries every way out; any user can start it."""
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    return (python, "-I", "-S", "-c", HERE.with_name("escapes.py").read_text(), outside.places())


@walled
@pytest.mark.spec("A13")
@pytest.mark.parametrize("user", ["root", "nobody"])
async def test_no_way_out_of_the_walls(stage: Stage, outside: Outside, user: str) -> None:
    if user == "nobody" and not os.getuid():
        output = await asyncio.to_thread(run_as_nobody, *escape(outside))
    else:  # or as whoever runs the tests
        run = stage.start(escape(outside), read_only=True)
        assert (await stage.ended(run)).code == 0, stage.output(run).decode()
        output = stage.output(run).decode()

    assert went_through(output) == []
    assert outside.change() == []
    assert output.splitlines()[0] == "descriptors: []"
    assert len(output.splitlines()) > ATTEMPTS, output


async def test_without_walls_the_same_attempts_go_through(stage: Stage, outside: Outside) -> None:
    """Or else their failure would prove nothing."""
    places = json.loads(outside.places(shim=os.getpid()))
    harmless = (
        "write", "append", "truncate", "create", "link", "symlink", "mkdir", "rmdir", "mkfifo", "chmod",
        "fchmod", "utime", "a hook of git", "settings of git", "another terminal",
        "write through an open file", "TCP", "UDP", "a server", "IPv6", "netlink", "a socket in a folder",
        "a socket for datagrams", "datagrams of a pair", "an abstract socket",
        "priority of a stranger", "limits of a stranger", "kill a stranger", "disk priority of everybody",
        "a lease", "a hint",
    )  # fmt: skip
    code = (
        f"import json, sys; sys.path.insert(0, {str(HERE.parents[2])!r})\n"
        "from tests.runners import escapes\n"
        f"found = escapes.attempts(json.loads(sys.argv[1]))\n"
        f"for name in {harmless!r}: found[name]()\n"
    )

    run = stage.start((sys.executable, "-c", code, json.dumps(places)))
    ending = await stage.ended(run)

    assert ending.code == 0, stage.output(run).decode()
    await until(lambda: outside.victim.poll() is not None, "the end of the victim")
    assert set(outside.change()[1:]) >= {"tcp", "udp", "stream", "datagrams", "abstract", "the victim"}


@walled
async def test_a_command_behind_walls_reads_everything_and_writes_to_its_scratch_directory(
    stage: Stage, outside: Outside
) -> None:
    lines = [
        (f"cat {outside.file}", b"untouched\n"),
        ("echo seen > $TMPDIR/x; cat $TMPDIR/x", b"seen\n"),
        (
            "mkdir -p $TMPDIR/a/b; echo 1 > $TMPDIR/a/x; mv $TMPDIR/a/x $TMPDIR/a/b/; cat $TMPDIR/a/b/x",
            b"1\n",
        ),
        ("echo gone > /dev/null; echo said > /dev/stderr", b"said\n"),
        ("seq 200000 | sort -S 100K -r | tail -1", b"1\n"),
        ("mktemp >/dev/null && echo made", b"made\n"),
        (f"git -C {outside.folder} status --short >/dev/null && echo clean", b"clean\n"),
        ("python3 --version >/dev/null && echo version", b"version\n"),
        ("ps -e >/dev/null && echo listed", b"listed\n"),
        ("yes | head -1", b"y\n"),
        ("sleep 1000 & kill -9 $! && echo ended", b"ended\n"),
    ]
    for command, expected in lines:
        run = stage.start(f"{command}", read_only=True)
        assert ((await stage.ended(run)).code, stage.output(run)) == (0, expected), command


@walled
async def test_requests_to_file_systems_only_ask(stage: Stage, outside: Outside) -> None:
    """Some change a file that is open for reading, and Landlock knows nothing of them."""
    code = (
        "import errno, fcntl, os, sys\n"
        "file = os.open(sys.argv[1], os.O_RDONLY)\n"
        "for request in sys.argv[2:]:\n"
        "    try:\n"
        "        fcntl.ioctl(file, int(request, 16), bytes(1000))\n"
        "    except OSError as error:\n"
        "        print(request, errno.errorcode[error.errno])\n"
    )
    # Flags, attributes, version, encryption (three), verity, a clone, a snapshot, the end of one, conversion.
    changing = (
        "40086602 401c5820 40086604 800c6613 c0506617 c0406618 40806685 40049409 50009417 5000940f 6609"
    )
    asking = "80086601 801c581f 80087601 c020660b 541b 5401"
    words = (sys.executable, "-I", "-S", "-c", code, str(outside.file), *changing.split(), *asking.split())

    run = stage.start(words, read_only=True)
    await stage.ended(run)

    refused = [line.split()[0] for line in stage.output(run).decode().splitlines() if line.endswith("EPERM")]
    assert refused == changing.split()


@walled
async def test_a_scratch_directory_is_empty_for_the_next_run_and_gone_with_its_shim(stage: Stage) -> None:
    make = "mkdir -m 0 $TMPDIR/locked; mkdir -p $TMPDIR/0/1/2; ln -s / $TMPDIR/link; touch $TMPDIR/0/x; pwd"
    deep = "cd $TMPDIR; for i in $(seq 600); do mkdir 0123456789 && cd 0123456789; done"
    for command in (make, deep):
        await stage.run(command, read_only=True)
        run = stage.start("ls -A $TMPDIR", read_only=True)
        await stage.ended(run)
        assert stage.output(run) == b""

    assert (stage.folder / "scratch").is_dir()
    await stage.pool.close()
    await until(lambda: not os.listdir(stage.folder / "scratch"), "the end of the shims")


@walled
async def test_scratch_directories_of_killed_shims_are_removed(stage: Stage) -> None:
    run = stage.start("echo left > $TMPDIR/x; echo ready; sleep 1000", read_only=True)
    await stage.printed(run, b"ready")
    os.kill(stage.shim_of(run), signal.SIGKILL)
    await stage.ended(run)
    assert os.listdir(stage.folder / "scratch") != []

    other = Stage(stage.folder)
    await other.pool.open()
    await other.run("true", run_id="other.1")

    assert os.listdir(stage.folder / "scratch") == []
    await other.pool.close()


@walled
async def test_a_terminal_behind_walls_is_its_own_and_no_other(stage: Stage, outside: Outside) -> None:
    other = json.loads(outside.places())["terminal"]
    run = stage.start(
        f"stty size; echo said > /dev/tty; tty; echo no > {other}; echo no > {outside.file}",
        input="pty",
        read_only=True,
    )
    await stage.ended(run)

    lines = stage.output(run).decode().splitlines()
    assert lines[:2] == ["24 80", "said"]
    assert lines[2].startswith("/dev/pts/")
    assert "ermission denied" in lines[3]
    assert "ermission denied" in lines[4]
    assert outside.change() == []


@walled
async def test_walls_are_around_each_step_and_not_around_other_runs_of_the_shim(stage: Stage) -> None:
    await stage.run("true", "touch second", before=["touch before"], lastly=["touch last"], read_only=True)
    assert not {"second", "before", "last"} & {path.name for path in stage.folder.iterdir()}

    first = stage.start("echo free > free")
    await stage.ended(first)
    assert (stage.folder / "free").read_text() == "free\n"


@walled
async def test_a_command_behind_walls_that_cannot_start_says_why(stage: Stage) -> None:
    ending = await stage.run(("/no/such/program",), read_only=True)

    assert ending.error == "no such program: /no/such/program"


@walled
async def test_a_run_behind_walls_is_cancelled_like_any_other(stage: Stage) -> None:
    run = stage.start("sleep 1000 & echo ready; wait", read_only=True)
    await stage.printed(run, b"ready")
    stage.pool.stop(run, grace=5)

    assert (await stage.ended(run)).stop == "cancel"
    assert not stage.living(run)


async def test_without_walls_in_the_system_a_run_starts_as_ever(posix_stage: Stage, outside: Outside) -> None:
    assert (await posix_stage.run(f"echo changed > {outside.file}", read_only=True)).code == 0
    assert outside.file.read_text() == "changed\n"


@pytest.fixture
async def posix_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setenv("ERRANDS_PLATFORM", "posix")
    stage = Stage(tmp_path)
    await stage.pool.open()
    yield stage
    await stage.pool.close()
