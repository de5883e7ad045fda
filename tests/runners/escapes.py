"""Attempts to write, connect or reach another process from behind the walls, run there as a program.

Called with a JSON object of places; prints one line per attempt: its name, and `went through` or the error.
It needs nothing but Python itself, so that it runs for any user.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
MACHINE = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
# Calls without a function in Python: x86-64, aarch64.
NUMBERS = {
    "unshare": (272, 97), "mount": (165, 40), "chroot": (161, 51), "pivot_root": (155, 41),
    "setns": (308, 268), "fsopen": (430, 430), "open_tree": (428, 428), "mount_setattr": (442, 442),
    "io_uring_setup": (425, 425), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "keyctl": (250, 219), "add_key": (248, 217), "shmget": (29, 194), "msgget": (68, 186),
    "semget": (64, 190), "mq_open": (240, 180), "open_by_handle_at": (304, 265),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "pidfd_getfd": (438, 438), "tgkill": (234, 131),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "clone3": (435, 435), "ioprio_set": (251, 30),
    "fchmodat2": (452, 452), "file_setattr": (469, 469), "setxattrat": (463, 463), "swapoff": (168, 225),
    "sethostname": (170, 161), "init_module": (175, 105), "fanotify_init": (300, 262), "syslog": (103, 116),
    "quotactl": (179, 60), "acct": (163, 89), "openat2": (437, 437), "clone": (56, 220), "truncate": (76, 45),
    "open_tree_attr": (467, 467), "removexattrat": (466, 466), "process_vm_writev": (311, 271),
    "move_pages": (279, 239), "process_madvise": (440, 440), "sched_setattr": (314, 274),
    "clock_settime": (227, 112),
}  # fmt: skip
CLONE_NEWUSER, CLONE_NEWNET, SIGCHLD = 0x10000000, 0x40000000, 17
MSG_FASTOPEN = 0x20000000
F_SETOWN, F_SETSIG, F_SETOWN_EX = 8, 10, 15


def call(name: str, *words: Any) -> int:
    result = int(LIBC.syscall(NUMBERS[name][MACHINE], *words))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def write(path: str, flags: int = os.O_WRONLY) -> None:
    file = os.open(path, flags, 0o600)
    os.write(file, b"changed\n")
    os.close(file)


def write_through_link(path: str) -> None:
    way = f"{os.environ['TMPDIR']}/way"
    os.symlink(path, way)
    write(way)


def send(kind: int, family: int, address: Any, protocol: int = 0) -> None:
    with socket.socket(family, kind, protocol) as peer:
        peer.settimeout(5)
        peer.connect(address)
        peer.send(b"changed\n")


def fast_open(port: int, protocol: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as peer:
        peer.sendto(b"changed\n", MSG_FASTOPEN, ("127.0.0.1", port))


def datagram_of_a_pair(path: str) -> None:
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        with socket.socketpair(socket.AF_UNIX, kind)[0] as one:
            one.sendto(b"changed\n", path)


def signal_by_owner(number: int) -> None:
    """Let the kernel send a signal about a pipe that can be read."""
    reading, writing = os.pipe()
    fcntl.fcntl(reading, F_SETOWN, number)
    fcntl.fcntl(reading, F_SETSIG, int(signal.SIGKILL))
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writing, b"x")


def signal_by_owner_ex(number: int) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(reading, F_SETOWN_EX, struct.pack("ii", 0, number))  # 0: this very thread
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writing, b"x")


def signal_by_directory(number: int) -> None:
    file = os.open(f"/proc/{number}", os.O_RDONLY | os.O_DIRECTORY)
    call("pidfd_send_signal", file, int(signal.SIGKILL), None, 0)


def signal_by_pidfd(number: int, flags: int = 0) -> None:
    call("pidfd_send_signal", call("pidfd_open", number, flags), int(signal.SIGKILL), None, 0)


def queue(number: int) -> None:
    info = struct.pack("iiii", int(signal.SIGKILL), 0, -1, 0).ljust(128, b"\0")
    call("rt_sigqueueinfo", number, int(signal.SIGKILL), info)


def read_memory(path: str) -> None:
    with open(path, "rb") as file:
        file.read(1)


def cloned_namespace() -> None:
    if call("clone", CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)


def by_old_calls() -> None:
    """Ask for the number of the process by the calls of 32 bits, which a filter for 64 may not know."""
    child = os.fork() if MACHINE == 0 else 0
    if child == 0:  # a kernel that lacks these calls ends whoever makes one
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(b"\x53\xb8\x14\0\0\0\xcd\x80\x5b\xc3")  # mov $20, %eax; int $0x80
        place = ctypes.addressof(ctypes.c_char.from_buffer(code))
        os._exit(0 if ctypes.CFUNCTYPE(ctypes.c_int)(place)() > 0 else 1)
    if os.waitpid(child, 0)[1]:
        raise OSError(errno.ENOSYS, "refused")


def made(name: str) -> str:
    path = f"{os.environ['TMPDIR']}/{name}"
    write(path, os.O_WRONLY | os.O_CREAT)
    return path


def mapped(path: str) -> None:
    mmap.mmap(os.open(path, os.O_RDONLY), 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[0] = 65


def protected_later(path: str) -> None:
    """Map a file for reading, and then make the pages writable."""
    LIBC.mmap.restype = ctypes.c_void_p
    file = os.open(path, os.O_RDONLY)
    place = LIBC.mmap(None, ctypes.c_size_t(4096), 1, 1, file, ctypes.c_long(0))
    if LIBC.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(4096), 3):
        raise OSError(errno.EACCES, "refused")


def more_file_attempts(places: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    file, folder, victim = places["file"], places["folder"], places["victim"]

    def ask(request: int, path: str = file) -> None:
        fcntl.ioctl(os.open(path, os.O_RDONLY), request, bytes(256))

    return {
        "out of the scratch directory by rename": lambda: os.rename(made("a"), f"{folder}/a"),
        "over a file by rename": lambda: os.replace(made("b"), file),
        "out of the scratch directory by link": lambda: os.link(made("c"), f"{folder}/c"),
        "rename the scratch directory": lambda: os.rename(os.environ["TMPDIR"], f"{folder}/scratch"),
        "remove the scratch directory": lambda: os.rmdir(os.path.dirname(os.environ["TMPDIR"])),
        "a shared mapping": lambda: mapped(file),
        "a mapping made writable": lambda: protected_later(file),
        "truncate an open file": lambda: os.ftruncate(os.open(file, os.O_RDONLY), 0),
        "its own memory": lambda: write("/proc/self/mem"),
        "its own score": lambda: write("/proc/self/oom_score_adj"),
        "group of the victim": lambda: write(f"/proc/{victim}/autogroup"),
        "dumps of the shim": lambda: write(f"/proc/{places['shim']}/coredump_filter"),
        "control groups": lambda: write("/sys/fs/cgroup/cgroup.procs"),
        "the core pattern": lambda: write("/proc/sys/kernel/core_pattern"),
        "magic keys": lambda: os.open("/proc/sysrq-trigger", os.O_WRONLY),
        "a sealed file": lambda: ask(0x40806685),
        "a frozen file system": lambda: ask(0xC0045877, folder),
        "a trimmed file system": lambda: ask(0xC0185879, folder),
        "removexattrat": lambda: call("removexattrat", -100, file.encode(), 0, b"user.x"),
        "open_tree_attr": lambda: call("open_tree_attr", -100, b"/", 1, bytes(32), 32),
        "a folder in a repository": lambda: os.makedirs(f"{folder}/.git/worktrees/x"),
    }


def more_kernel_attempts(places: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    victim = places["victim"]
    return {
        "calls of 32 bits": by_old_calls,
        "the console for itself": lambda: fcntl.ioctl(0, 0x541D),
        "memory into a stranger": lambda: call("process_vm_writev", victim, bytes(16), 1, bytes(16), 1, 0),
        "pages of a stranger": lambda: call("move_pages", victim, 0, None, None, None, 0),
        "advice about a stranger": lambda: call("process_madvise", victim, None, 0, 4, 0),
        "scheduling of a stranger": lambda: call("sched_setattr", victim, b"\x30" + bytes(47), 0),
        "the clock": lambda: call("clock_settime", 0, struct.pack("qq", 1, 0)),
        "real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        "a program of another user": lambda: os.setresuid(12345, 12345, 12345),
    }


def file_attempts(places: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    file, folder = places["file"], places["folder"]
    attempts: dict[str, Callable[[], Any]] = {
        "write": lambda: write(file),
        "append": lambda: write(file, os.O_WRONLY | os.O_APPEND),
        "truncate": lambda: os.truncate(file, 0),
        "open and truncate for reading": lambda: os.open(file, os.O_RDONLY | os.O_TRUNC),
        "create": lambda: write(f"{folder}/new", os.O_WRONLY | os.O_CREAT),
        "create without a name": lambda: write(folder, os.O_WRONLY | os.O_TMPFILE),
        "openat2": lambda: call(
            "openat2", -100, f"{folder}/new2".encode(), struct.pack("QQQ", 0o101, 0o600, 0), 24
        ),
        "unlink": lambda: os.unlink(file),
        "rename": lambda: os.rename(file, f"{folder}/renamed"),
        "rename into the scratch directory": lambda: os.rename(file, f"{os.environ['TMPDIR']}/taken"),
        "rename a folder": lambda: os.rename(folder, f"{folder}.renamed"),
        "link": lambda: os.link(file, f"{folder}/linked"),
        "link into the scratch directory": lambda: os.link(file, f"{os.environ['TMPDIR']}/linked"),
        "symlink": lambda: os.symlink(file, f"{folder}/symlinked"),
        "mkdir": lambda: os.mkdir(f"{folder}/made"),
        "rmdir": lambda: os.rmdir(f"{folder}/empty"),
        "mkfifo": lambda: os.mkfifo(f"{folder}/fifo"),
        "mknod": lambda: os.mknod(f"{os.environ['TMPDIR']}/null", 0o20600, os.makedev(1, 3)),
        "write through a link in the scratch directory": lambda: write_through_link(file),
        "write through an open file": lambda: write(f"/proc/self/fd/{os.open(file, os.O_RDONLY)}"),
        "write through the root of the shim": lambda: write(f"/proc/{places['shim']}/root{file}"),
        "chmod": lambda: os.chmod(file, 0o777),
        "fchmod": lambda: os.fchmod(os.open(file, os.O_RDONLY), 0o777),
        "fchmodat2": lambda: call("fchmodat2", -100, file.encode(), 0o777, 0),
        "chown": lambda: os.chown(file, os.getuid(), os.getgid()),
        "utime": lambda: os.utime(file, (1, 1)),
        "setxattr": lambda: os.setxattr(file, "user.changed", b"yes"),
        "attributes": lambda: fcntl.ioctl(os.open(file, os.O_RDONLY), 0x40086602, struct.pack("l", 0x80)),
        "more attributes": lambda: fcntl.ioctl(os.open(file, os.O_RDONLY), 0x401C5820, bytes(28)),
        "file_setattr": lambda: call("file_setattr", -100, file.encode(), bytes(24), 24, 0),
        "setxattrat": lambda: call("setxattrat", -100, file.encode(), 0, b"user.changed", bytes(16), 16),
        "a hook of git": lambda: write(f"{folder}/.git/hooks/post-commit", os.O_WRONLY | os.O_CREAT),
        "settings of git": lambda: write(f"{folder}/.git/config", os.O_WRONLY | os.O_APPEND),
        "the run record": lambda: write(f"{os.environ['ERRANDS_RUN_DIR']}/record.1"),
        "the log": lambda: write(f"{os.environ['ERRANDS_RUN_DIR']}/output.log"),
        "a file in the run directory": lambda: write(
            f"{os.environ['ERRANDS_RUN_DIR']}/new", os.O_WRONLY | os.O_CREAT
        ),
        "/tmp": lambda: write(f"/tmp/errands-escape-{os.getpid()}", os.O_WRONLY | os.O_CREAT),
        "/var/tmp": lambda: write(f"/var/tmp/errands-escape-{os.getpid()}", os.O_WRONLY | os.O_CREAT),
        "/dev/shm": lambda: write(f"/dev/shm/errands-escape-{os.getpid()}", os.O_WRONLY | os.O_CREAT),
        "another terminal": lambda: write(places["terminal"], os.O_WRONLY | os.O_NOCTTY),
        "a device": lambda: write("/dev/full"),
        "a new terminal": os.openpty,
        "the kernel's settings": lambda: os.open("/proc/sys/kernel/hostname", os.O_WRONLY),
        "a lease": lambda: fcntl.fcntl(os.open(file, os.O_RDONLY), 1024, fcntl.F_RDLCK),
        "a hint": lambda: fcntl.fcntl(os.open(file, os.O_RDONLY), 1036, struct.pack("Q", 2)),
        "a snapshot": lambda: fcntl.ioctl(os.open(folder, os.O_RDONLY), 0x50009417, bytes(1000)),
        "the key of a folder": lambda: fcntl.ioctl(os.open(folder, os.O_RDONLY), 0xC0406618, bytes(64)),
        "the version of a file": lambda: fcntl.ioctl(os.open(file, os.O_RDONLY), 0x40086604, bytes(8)),
        "the out-of-memory score of another process": lambda: os.open(
            f"/proc/{places['victim']}/oom_score_adj", os.O_WRONLY
        ),
    }  # fmt: skip
    return attempts


def socket_attempts(places: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    stream, port = socket.SOCK_STREAM, places["tcp"]
    inet, unix = socket.AF_INET, socket.AF_UNIX
    return {
        "TCP": lambda: send(stream, inet, ("127.0.0.1", port)),
        "TCP fast open": lambda: fast_open(port, 0),
        "MPTCP": lambda: send(stream, inet, ("127.0.0.1", port), 262),
        "MPTCP fast open": lambda: fast_open(port, 262),
        "UDP": lambda: send(socket.SOCK_DGRAM, inet, ("127.0.0.1", places["udp"])),
        "a server": lambda: socket.create_server(("127.0.0.1", 0)),
        "listen without bind": lambda: socket.socket(inet, stream).listen(),
        "IPv6": lambda: socket.socket(socket.AF_INET6, stream),
        "raw": lambda: socket.socket(inet, socket.SOCK_RAW, 1),
        "ICMP": lambda: socket.socket(inet, socket.SOCK_DGRAM, 1),
        "packet": lambda: socket.socket(17, socket.SOCK_RAW),
        "netlink": lambda: socket.socket(16, socket.SOCK_RAW),
        "vsock": lambda: socket.socket(40, stream),
        "alg": lambda: socket.socket(38, socket.SOCK_SEQPACKET),
        "a socket in a folder": lambda: send(stream, unix, places["stream"]),
        "a socket for datagrams": lambda: send(socket.SOCK_DGRAM, unix, places["datagrams"]),
        "datagrams of a pair": lambda: datagram_of_a_pair(places["datagrams"]),
        "an abstract socket": lambda: send(stream, unix, "\0" + places["abstract"]),
        "bind in the scratch directory": lambda: socket.socket(unix, stream).bind(
            f"{os.environ['TMPDIR']}/socket"
        ),
    }  # fmt: skip


def attempts_on(whom: str, each: int, group: int) -> dict[str, Callable[[], Any]]:
    """Return attempts on a process or a thread; `group` is the process that a thread belongs to."""
    return {
        f"kill {whom}": lambda: os.kill(each, signal.SIGKILL),
        f"tkill {whom}": lambda: call("tkill", each, 9),
        f"tgkill {whom}": lambda: call("tgkill", group, each, 9),
        f"queue for {whom}": lambda: queue(each),
        f"pidfd of {whom}": lambda: signal_by_pidfd(each),
        f"pidfd of a thread, {whom}": lambda: signal_by_pidfd(each, os.O_EXCL),
        f"directory of {whom}": lambda: signal_by_directory(each),
        f"owner {whom}": lambda: signal_by_owner(each),
        f"owner by thread, {whom}": lambda: signal_by_owner_ex(each),
        f"trace {whom}": lambda: call("ptrace", 0x4206, each, 0, 0),
        f"memory of {whom}": lambda: read_memory(f"/proc/{each}/mem"),
        f"limits of {whom}": lambda: resource.prlimit(each, resource.RLIMIT_NOFILE, (1, 1)),
        f"priority of {whom}": lambda: os.setpriority(os.PRIO_PROCESS, each, 19),
        f"processors of {whom}": lambda: os.sched_setaffinity(each, {0}),
        f"files of {whom}": lambda: call("pidfd_getfd", call("pidfd_open", each, 0), 0, 0),
    }


def process_attempts(places: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    shim = places["shim"]
    attempts = attempts_on("a stranger", places["victim"], places["victim"])
    for at, each in enumerate(map(int, os.listdir(f"/proc/{shim}/task"))):
        attempts |= attempts_on(f"thread {at} of the shim", each, shim)
        place = f"/proc/{shim}/task/{each}"
        attempts[f"variables of thread {at}"] = partial(read_memory, f"{place}/environ")
        attempts[f"open files of thread {at}"] = partial(os.readlink, f"{place}/fd/0")
    # As most of them have it, so that it changes little if it goes through.
    attempts["priority of everybody"] = lambda: os.setpriority(os.PRIO_USER, 0, 0)
    attempts["disk priority of everybody"] = lambda: call("ioprio_set", 3, os.getuid(), 0)
    attempts["kill the group of the shim"] = lambda: os.killpg(os.getpgid(shim), signal.SIGKILL)
    return attempts


def kernel_attempts(places: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    del places
    return {
        "a user namespace": lambda: call("unshare", CLONE_NEWUSER),
        "a network namespace": lambda: call("unshare", CLONE_NEWNET),
        "a cloned namespace": cloned_namespace,
        "clone3": lambda: call("clone3", struct.pack("8Q", CLONE_NEWUSER, *[0] * 7), 64),
        "mount": lambda: call("mount", b"none", os.environ["TMPDIR"].encode(), b"tmpfs", 0, None),
        "chroot": lambda: call("chroot", b"/"),
        "pivot_root": lambda: call("pivot_root", b"/", b"/"),
        "setns": lambda: call("setns", os.open("/proc/1/ns/uts", os.O_RDONLY), 0),
        "fsopen": lambda: call("fsopen", b"tmpfs", 0),
        "open_tree": lambda: call("open_tree", -100, b"/", 1),
        "mount_setattr": lambda: call("mount_setattr", -100, b"/", 0, bytes(32), 32),
        "io_uring": lambda: call("io_uring_setup", 1, bytes(120)),
        "bpf": lambda: call("bpf", 0, struct.pack("4I", 2, 4, 4, 1).ljust(128, b"\0"), 128),
        "perf": lambda: call("perf_event_open", bytes(128), 0, -1, -1, 0),
        "userfaultfd": lambda: call("userfaultfd", 1),
        "keys": lambda: call("add_key", b"user", b"errands", b"x", 1, -3),
        "a keyring": lambda: call("keyctl", 1, 0),
        "shared memory": lambda: call("shmget", 0, 4096, 0o1600),
        "a message queue": lambda: call("msgget", 0, 0o1600),
        "semaphores": lambda: call("semget", 0, 1, 0o1600),
        "a queue by name": lambda: call("mq_open", b"errands-escape", 0o102, 0o600, None),
        "handles": lambda: call("open_by_handle_at", -100, bytes(16), 0),
        "fanotify": lambda: call("fanotify_init", 0, 0),
        "the kernel log": lambda: call("syslog", 3, ctypes.create_string_buffer(16), 16),
        "accounting": lambda: call("acct", b"/nowhere"),
        "the host name": lambda: call("sethostname", os.uname().nodename.encode(), len(os.uname().nodename)),
        "a module": lambda: call("init_module", b"", 0, b""),
        "become another user": lambda: os.setuid(12345 if os.getuid() != 12345 else 0),
        "groups": lambda: os.setgroups([0]),
        "input for the terminal": lambda: fcntl.ioctl(0, 0x5412, b"x"),
        "more privileges by a program": lambda: require(b"NoNewPrivs:\t0"),
        "no filter": lambda: require(b"Seccomp:\t0"),
    }  # fmt: skip


def require(line: bytes) -> None:
    with open("/proc/self/status", "rb") as file:
        if line not in file.read():
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def attempts(places: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    return (
        process_attempts(places)
        | socket_attempts(places)
        | kernel_attempts(places)
        | more_kernel_attempts(places)
        | file_attempts(places)
        | more_file_attempts(places)
    )  # fmt: skip


def main() -> None:
    places = {"shim": os.getppid(), **json.loads(sys.argv[1])}
    signal.alarm(60)
    # The fourth one is that of the listing.
    print(f"descriptors: {sorted(set(os.listdir('/proc/self/fd')) - {'0', '1', '2', '3'})}")
    for name, attempt in attempts(places).items():
        try:
            attempt()
        except OSError as error:
            said = errno.errorcode.get(error.errno or 0, str(error))
        else:
            said = "went through"
        print(f"{name}: {said}", flush=True)


if __name__ == "__main__":
    main()
