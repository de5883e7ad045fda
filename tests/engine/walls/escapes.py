"""Attempts to get out of a sandbox; run by the system's Python inside one, it prints what succeeded.

Each attempt raises if it is refused. The words of the command line are what is outside: a directory with the
files `victim` and `secret`, a TCP port, a UDP port, the path of a socket, its abstract name, and a process.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import socket
import struct
import subprocess
import sys
from collections.abc import Callable

OUTSIDE, TCP, UDP, SOCKET, ABSTRACT, PID = sys.argv[1:]
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"


def call(x86: int, arm: int, *words: object) -> None:
    if LIBC.syscall(x86 if X86 else arm, *words) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def wrote(path: str, text: str = "x") -> None:
    with open(path, "a") as file:
        file.write(text)


def ran(*words: str) -> None:
    if subprocess.run(words, capture_output=True, check=False).returncode:
        raise OSError(f"{words[0]} failed")


def unix(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(name)


def fast_open() -> None:
    with socket.socket() as client:
        client.sendto(b"x", 0x20000000, ("127.0.0.1", int(TCP)))


def multipath() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as client:
        client.connect(("127.0.0.1", int(TCP)))


def datagram() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", int(UDP)))
        client.send(b"x")
        client.settimeout(0.2)
        client.recv(1)  # a port where nobody listens refuses


def own_descriptors() -> None:
    for name in os.listdir("/proc/self/fd"):
        path = os.readlink(f"/proc/self/fd/{name}") if os.path.lexists(f"/proc/self/fd/{name}") else ""
        if int(name) > 2 and path and not path.startswith("/proc/"):
            return
    raise OSError("there are none")


def setuid_file() -> None:
    wrote("mine")
    os.chmod("mine", 0o4755)


def setuid_by_open() -> None:
    os.close(os.open("created", os.O_CREAT | os.O_WRONLY, 0o6755))


def terminal_input() -> None:
    fcntl.ioctl(0, 0x5412, b"x")


def listing_of(place: str) -> None:
    if not os.listdir(place):
        raise OSError("it is empty")


def passwords() -> None:
    with open("/etc/shadow") as file:
        if not file.read(1):
            raise OSError("it is empty")


def holding(path: str, words: bytes) -> None:
    """Read a file that must not have these words."""
    with open(path, "rb") as file:
        if words not in file.read():
            raise OSError("it says nothing of this")


def write_through_link() -> None:
    os.symlink(f"{OUTSIDE}/victim", "way")
    wrote("way")


def process_memory() -> None:
    buffer = ctypes.create_string_buffer(8)
    ours, theirs = (struct.pack("QQ", place, 8) for place in (ctypes.addressof(buffer), 0x400000))
    call(310, 270, int(PID), ours, 1, theirs, 1, 0)


def file_capabilities() -> None:
    wrote("capable")
    os.setxattr("capable", "security.capability", struct.pack("<5I", 0x02000001, 1 << 21, 0, 0, 0))


def everybody() -> None:
    """Send a signal to all others; outside, the victim would be one of them."""
    os.kill(-1, 0)
    os.kill(int(PID), 0)


def outlive() -> None:
    """Leave a process behind that writes once it may."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                wrote(f"{OUTSIDE}/daemon")
            finally:
                os._exit(0)
        os._exit(0)
    os.wait()
    raise OSError("it is seen from outside whether it wrote")


def parent_namespace() -> None:
    file = os.open("/proc/self/ns/user", os.O_RDONLY)
    fcntl.ioctl(file, 0xB702)  # NS_GET_PARENT


def shared_memory() -> None:
    """Find a segment, a queue or a set of semaphores of somebody outside."""
    for name in ("shm", "msg", "sem"):
        with open(f"/proc/sysvipc/{name}") as file:
            if len(file.readlines()) > 1:
                return
    raise OSError("there are none")


def netlink() -> None:
    with socket.socket(16, socket.SOCK_RAW, 0) as peer:
        # Ask for all interfaces: there is none but the private loopback.
        peer.bind((0, 0))
        peer.send(struct.pack("IHHIIB3x", 20, 18, 0x301, 1, 0, 0))
        if b"eth" not in peer.recv(65536):
            raise OSError("only its own")


def other_terminal() -> None:
    for name in os.listdir("/dev/pts"):
        if name != "ptmx":
            os.close(os.open(f"/dev/pts/{name}", os.O_WRONLY | os.O_NOCTTY))
            return
    raise OSError("there is none")


def writable_below(place: str) -> None:
    """Write to any file of the kernel that is open to us, but for those of our own process."""
    for folder, folders, files in os.walk(place):
        folders[:] = [each for each in folders if not each.isdigit() and each not in ("self", "thread-self")]
        for name in files:
            path = f"{folder}/{name}"
            if os.access(path, os.W_OK) and not path.startswith(("/proc/pressure/", "/proc/sys/")):
                os.close(os.open(path, os.O_WRONLY))
                return
    raise OSError("nothing can be written")


def rare_sockets() -> None:
    """Open a socket of a family that no namespace covers, or a pair of one."""
    for family in (8, 15, 21, 23, 29, 30, 31, 38, 39, 41, 43, 44):
        for make in (socket.socket, socket.socketpair):
            try:
                make(family, socket.SOCK_DGRAM)
                return
            except OSError:
                continue
    raise OSError("there are none")


def files_of_others() -> None:
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        for name in os.listdir(f"/proc/{pid}/fd"):
            place = os.readlink(f"/proc/{pid}/fd/{name}")
            if place.startswith("/") and not os.path.exists(place):
                return
    raise OSError("there are none")


def through_every_root(name: str) -> None:
    """Look for a file outside through the roots and directories of all processes."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        for way in ("root", "cwd", "root/proc/1/root"):
            if os.path.exists(f"/proc/{pid}/{way}{OUTSIDE}/{name}"):
                return
    raise OSError("there is no way")


def segment_of_others() -> None:
    """Attach the segments of shared memory with small numbers."""
    for number in range(64):
        if LIBC.shmat(number, None, 0o10000) != -1:
            return
    raise OSError("there are none")


def by_another_abi() -> None:
    """Make calls under the numbers of x32, which a filter for x86-64 may not know."""
    for number in (272, 165, 437, 425):
        if X86 and LIBC.syscall(0x40000000 | number, 0x10000000, 0, 0, 0, 0) >= 0:
            return
    raise OSError("refused")


def exchange_git() -> None:
    os.mkdir("other-git")
    call(316, 276, -100, b"other-git", -100, b".git", 2)  # RENAME_EXCHANGE


def setuid_copy() -> None:
    ran("cp", "--preserve=all", "/usr/bin/su", "mine-too")
    if not os.stat("mine-too").st_mode & 0o6000:
        raise OSError("it lost its bits")


def by_handle() -> None:
    """Open files of the system by guessed handles, past all mounts."""
    mount = os.open("/usr", os.O_RDONLY)
    for inode in (2, 12, 128):
        handle = struct.pack("IiII", 8, 1, inode, 0)
        if LIBC.syscall(304 if X86 else 265, mount, handle, os.O_RDONLY) >= 0:
            return
    raise OSError("refused")


def reopened() -> None:
    """Open a file of the system for writing through a descriptor that only reads."""
    os.close(os.open(f"/proc/self/fd/{os.open('/usr/bin/env', os.O_RDONLY)}", os.O_WRONLY))


def remounted_descriptor() -> None:
    """Climb out of a folder of the project that is moved away while it is held."""
    os.makedirs("up/down", exist_ok=True)
    folder = os.open("up/down", os.O_PATH)
    os.rename("up/down", "elsewhere")
    os.close(os.open(f"../../{os.path.basename(OUTSIDE)}/secret", os.O_RDONLY, dir_fd=folder))


def heard_of_devices() -> None:
    """Hear what the kernel tells about devices, or its audit."""
    for protocol in (15, 9):
        with socket.socket(16, socket.SOCK_RAW, protocol) as peer:
            peer.bind((0, 1))
            peer.settimeout(0.1)
            if peer.recv(1):
                return
    raise OSError("nothing is heard")


def sequenced(name: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(name)


def from_memory() -> None:
    """Run a program that is no file, with the owner's rights of a setuid program."""
    memory = os.memfd_create("x", 0)
    with open("/usr/bin/true", "rb") as file:
        os.write(memory, file.read())
    os.fchmod(memory, 0o4755)


def raw_device(number: int) -> None:
    os.mknod(f"device{number}", 0o20600, os.makedev(10, number))


HOME = os.path.expanduser("~")
ATTEMPTS: dict[str, Callable[[], object]] = {
    # First, before an attempt has opened or made something itself.
    "an inherited descriptor": own_descriptors,
    "services": lambda: listing_of("/run"),
    "read a secret": lambda: open(f"{OUTSIDE}/secret").close(),
    "read it through the first process": lambda: open(f"/proc/1/root{OUTSIDE}/secret").close(),
    "write outside": lambda: os.truncate(f"{OUTSIDE}/victim", 0),
    "link to outside": lambda: os.link(f"{OUTSIDE}/victim", "linked"),
    "write to the system": lambda: wrote("/usr/escaped"),
    "write to /etc": lambda: wrote("/etc/escaped"),
    "write to the root": lambda: wrote("/escaped"),
    "write a hook": lambda: wrote(".git/hooks/pre-commit"),
    "write git's configuration": lambda: wrote(".git/config"),
    "move .git": lambda: os.rename(".git", "moved"),
    "remove .git": lambda: os.rmdir(".git"),
    "unmount .git": lambda: ran("umount", ".git"),
    "change Errands": lambda: wrote("errands.toml"),
    "change an agent": lambda: wrote(".claude/settings.json"),
    "mount": lambda: call(165, 40, b"x", b"/mnt", b"tmpfs", 0, 0),
    "bind": lambda: call(165, 40, b"/", b"/mnt", 0, 4096, 0),
    "remount": lambda: call(165, 40, 0, b"/", 0, 32, 0),
    "unmount": lambda: call(166, 39, b"/usr", 2),
    "pivot": lambda: call(155, 41, b".", b"."),
    "change the root": lambda: os.chroot("/usr"),
    "open a tree": lambda: call(428, 428, -100, b"/", 1),
    "open a file system": lambda: call(430, 430, b"tmpfs", 0),
    "change mounts": lambda: call(442, 442, -100, b"/", 0, b"\0" * 32, 32),
    "a user namespace": lambda: call(272, 97, 0x10000000),
    "a mount namespace": lambda: call(272, 97, 0x20000),
    "a network namespace": lambda: call(272, 97, 0x40000000),
    "clone into a namespace": lambda: ran("unshare", "-Ur", "true"),
    "enter a namespace": lambda: ran("nsenter", "-t", "1", "-n", "true"),
    "namespace by descriptor": lambda: call(308, 268, os.open("/proc/1/ns/user", os.O_RDONLY), 0),
    "a device": lambda: os.mknod("disk", 0o60600, os.makedev(8, 0)),
    "memory": lambda: open("/dev/mem").close(),
    "kernel messages": lambda: open("/dev/kmsg").close(),
    "fuse": lambda: open("/dev/fuse").close(),
    "virtual machines": lambda: open("/dev/kvm").close(),
    "input for the terminal": terminal_input,
    "a setuid file": setuid_file,
    "a setuid file by open": setuid_by_open,
    "become another user": lambda: os.setuid(12345),
    "other groups": lambda: os.setgroups([0]),
    "give a file away": lambda: os.chown("escapes.py", 12345, 12345),
    "passwords": passwords,
    "signal": lambda: os.kill(int(PID), 0),
    "trace": lambda: call(101, 117, 16, int(PID), 0, 0),
    "its memory": lambda: open(f"/proc/{PID}/mem").close(),
    "its variables": lambda: open(f"/proc/{PID}/environ").close(),
    "its priority": lambda: os.setpriority(os.PRIO_PROCESS, int(PID), 10),
    "a socket": lambda: unix(SOCKET),
    "an abstract socket": lambda: unix("\0" + ABSTRACT),
    "docker": lambda: unix("/var/run/docker.sock"),
    "D-Bus": lambda: unix("/run/dbus/system_bus_socket"),
    "TCP": lambda: socket.create_connection(("127.0.0.1", int(TCP)), 1).close(),
    "TCP to the world": lambda: socket.create_connection(("192.0.2.1", 80), 1).close(),
    "TCP by version 6": lambda: socket.create_connection(("2001:db8::1", 80), 1).close(),
    "fast open": fast_open,
    "multipath": multipath,
    "UDP": datagram,
    "raw packets": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close(),
    "packets": lambda: socket.socket(17, socket.SOCK_RAW, 0).close(),
    "vsock": lambda: socket.socket(40, socket.SOCK_STREAM).close(),
    "names": lambda: socket.getaddrinfo("example.com", 80),
    "core pattern": lambda: wrote("/proc/sys/kernel/core_pattern", "|/x"),
    "modprobe": lambda: wrote("/proc/sys/kernel/modprobe", "x"),
    "magic keys": lambda: wrote("/proc/sysrq-trigger", "h"),
    "uevent helper": lambda: wrote("/sys/kernel/uevent_helper", "x"),
    "control groups": lambda: os.mkdir("/sys/fs/cgroup/escaped"),
    "namespaces allowed": lambda: wrote("/proc/sys/user/max_user_namespaces", "9"),
    "io_uring": lambda: call(425, 425, 1, b"\0" * 120),
    "bpf": lambda: call(321, 280, 0, b"\0" * 64, 64),
    "performance events": lambda: call(298, 241, b"\0" * 128, 0, -1, -1, 0),
    "page faults": lambda: call(323, 282, 1),
    "keyrings": lambda: call(250, 219, 0, -3, 1),
    "file handles": lambda: call(303, 264, -100, b"/", struct.pack("Ii", 128, 0) + b"\0" * 128, b"\0" * 8, 0),
    "kernel modules": lambda: call(175, 105, b"x", 1, b""),
    "the clock": lambda: call(227, 112, 0, struct.pack("qq", 1, 0)),
    "the host name": lambda: call(170, 161, b"x", 1),
    "reboot": lambda: call(169, 142, 0, 0, 0, 0),
    "swap": lambda: call(167, 224, b"x", 0),
    "kernel log": lambda: call(103, 116, 3, b"\0" * 64, 64),
    "terminal hang-up": lambda: call(153, 58),
    "the directory of the first process": lambda: open(f"/proc/1/cwd{OUTSIDE}/secret").close(),
    "its variables, the first": lambda: holding("/proc/1/environ", OUTSIDE.encode()),
    "its words": lambda: holding("/proc/1/cmdline", b"--ro-bind"),
    "the store": lambda: open(f"{OUTSIDE}/home/e/errands.db").close(),
    "the home": lambda: open(f"{OUTSIDE}/home/.bashrc").close(),
    "tools of the home": lambda: wrote(f"{OUTSIDE}/home/.local/bin/ls"),
    "other projects": lambda: open(f"{OUTSIDE}/other/README").close(),
    "other runs": lambda: listing_of(f"{OUTSIDE}/runs"),
    "a hard link of a secret": lambda: os.link(f"{OUTSIDE}/secret", f"{HOME}/linked"),
    "a link that leads outside": write_through_link,
    "replace .git by a link": lambda: os.symlink("/tmp", ".git"),
    "a hook by renaming": lambda: os.rename("escapes.py", ".git/hooks/post-checkout"),
    "settings of an agent by renaming": lambda: os.rename("escapes.py", ".claude/settings.json"),
    "truncate Errands": lambda: os.truncate("errands.toml", 0),
    "remove Errands": lambda: os.unlink("errands.toml"),
    "clone3": lambda: call(435, 435, struct.pack("8Q", 0x10000000, *[0] * 7), 64),
    "clone": lambda: call(56, 220, 0x10000000 | 17, 0, 0, 0, 0),
    "the namespace above": parent_namespace,
    "another terminal": other_terminal,
    "console input": lambda: open("/dev/tty0").close(),
    "a disk": lambda: open("/dev/sda").close(),
    "su": lambda: ran("su", "-c", "true"),
    "sudo": lambda: ran("sudo", "-n", "true"),
    "file capabilities": file_capabilities,
    "read its memory": process_memory,
    "its limits": lambda: call(302, 261, int(PID), 7, struct.pack("QQ", 1, 1), 0),
    "signal everybody": everybody,
    "a process that stays": outlive,
    "an agent of ssh": lambda: unix(os.environ.get("SSH_AUTH_SOCK", f"{HOME}/.ssh/agent")),
    "the session bus": lambda: unix(f"/run/user/{os.getuid()}/bus"),
    "a service in /var/lib": lambda: listing_of("/var/lib"),
    "TCP on all addresses": lambda: socket.create_connection(("0.0.0.0", int(TCP)), 1).close(),
    "ICMP": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1).sendto(b"x" * 8, ("192.0.2.1", 0)),
    "netlink": netlink,
    "release agent": lambda: wrote("/sys/fs/cgroup/release_agent", "x"),
    "shared memory of others": shared_memory,
    "POSIX shared memory of others": lambda: listing_of("/dev/shm"),
    "queues of others": lambda: listing_of("/dev/mqueue"),
    "anything in /sys": lambda: writable_below("/sys"),
    "anything in /proc": lambda: writable_below("/proc"),
    "processes of others": lambda: listing_of(f"/proc/{PID}"),
    "rare sockets": rare_sockets,
    "open files of others": files_of_others,
    "all roots": lambda: through_every_root("secret"),
    "segments of others": segment_of_others,
    "attributes of a secret": lambda: os.listxattr(f"{OUTSIDE}/secret"),
    "calls of another kind": by_another_abi,
    "input with more bits": lambda: call(16, 29, 0, ctypes.c_ulong(0x700005412), b"x"),
    "exchange .git": exchange_git,
    "a copy of a setuid program": setuid_copy,
    "a setuid file without a name": lambda: os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755)),
    "settings of git by git": lambda: ran("git", "config", "core.fsmonitor", "./evil"),
    "a module of git": lambda: wrote(".git/modules/x/config"),
    "git's information": lambda: wrote(".git/info/attributes"),
    "a work tree of git": lambda: ran("git", "worktree", "add", "tree"),
    "an index of git": lambda: wrote(".git/index"),
    "the key of a folder": lambda: fcntl.ioctl(os.open("/usr", 0), 0xC0406618, bytes(64)),
    "a descriptor of the victim": lambda: call(434, 434, int(PID), 0),
    "compare with the victim": lambda: call(312, 272, os.getpid(), int(PID), 0, 0, 0),
    "processors of the victim": lambda: os.sched_setaffinity(int(PID), {0}),
    "pages of the victim": lambda: call(279, 239, int(PID), 0, 0, 0, 0, 0),
    "disk priority of the victim": lambda: call(251, 30, 1, int(PID), 0),
    "quotas": lambda: call(443, 443, os.open("/usr", 0), 0x80000700, 0, b"\0" * 128),
    "everything on a file system": lambda: call(300, 262, 0, 0),
    "adjust the clock": lambda: call(159, 171, struct.pack("I", 1) + b"\0" * 252),
    "scheduling in real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "more open files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 21, 1 << 21)),
    "the next number": lambda: wrote("/proc/sys/kernel/ns_last_pid", "1"),
    "its own out-of-memory score": lambda: wrote("/proc/self/oom_score_adj", "-1000"),
    "map of users": lambda: wrote("/proc/self/uid_map", "0 0 1"),
    "map of groups": lambda: wrote("/proc/self/gid_map", "0 0 1"),
    "add a key": lambda: call(248, 217, b"user", b"x", b"y", 1, -3),
    "ask for a key": lambda: call(249, 218, b"user", b"x", b"y", -3),
    "a file by its handle": by_handle,
    "a file of the system by its descriptor": reopened,
    "up from a folder that moved": remounted_descriptor,
    "news of devices": heard_of_devices,
    "an abstract socket in sequence": lambda: sequenced("\0" + ABSTRACT),
    "a socket in sequence": lambda: sequenced(SOCKET),
    "a setuid program from memory": from_memory,
    "the device of tunnels": lambda: os.close(os.open("/dev/net/tun", os.O_RDWR)),
    "a device for input": lambda: raw_device(223),
    "a device for loops": lambda: raw_device(237),
    "accounting": lambda: call(163, 89, b"account"),
    "another kernel": lambda: call(246, 104, 0, 0, 0, 0),
    "a module from a file": lambda: call(313, 273, 0, b"", 0),
    "remove a module": lambda: call(176, 106, b"x", 0),
    "ports of the processor": lambda: call(172, 1_000, 3),
    "a port of the processor": lambda: call(173, 1_000, 0x80, 1, 1),
    "the day": lambda: call(164, 170, struct.pack("qq", 1, 0), 0),
    "adjust a clock": lambda: call(305, 266, 0, struct.pack("I", 1) + b"\0" * 252),
    "the domain's name": lambda: call(171, 162, b"x", 1),
    "move a mount": lambda: call(429, 429, -100, b"/usr", -100, b"/mnt", 0),
    "make a mount": lambda: call(432, 432, 0, 0, 0),
    "look into a mount": lambda: call(433, 433, -100, b"/", 0),
    "a handle of the victim": lambda: call(434, 434, int(PID), 0),
    "memory of the victim by advice": lambda: call(440, 440, int(PID), 0, 0, 4, 0),
    "signal the group": lambda: os.killpg(int(PID), 0),
    "a queued signal": lambda: call(129, 138, int(PID), 10, b"\0" * 128),
    "scheduling of the victim": lambda: call(314, 274, int(PID), b"\x30" + b"\0" * 47, 0),
    "migrate pages": lambda: call(256, 238, int(PID), 8, b"\1" * 8, b"\1" * 8),
    "keys on a console": lambda: fcntl.ioctl(0, 0x541C, b"\x02"),
    "another controlling terminal": lambda: fcntl.ioctl(os.open("/dev/console", os.O_RDWR), 0x540E, 1),
    "the first process's program": lambda: wrote("/proc/1/exe"),
    "its own program": lambda: wrote("/proc/self/exe"),
    "the words of git's lock": lambda: wrote(".git/index.lock"),
    "Errands by exchange": lambda: call(316, 276, -100, b"escapes.py", -100, b"errands.toml", 2),
    "whiteout over Errands": lambda: call(316, 276, -100, b"escapes.py", -100, b"errands.toml", 4),
    "the folder of git by its descriptor": lambda: os.unlink("config", dir_fd=os.open(".git", os.O_PATH)),
    "times of git": lambda: os.utime(".git/config", (1, 1)),
    "modes of git": lambda: os.chmod(".git/config", 0o777),
    "attributes of git": lambda: os.setxattr(".git/config", "user.x", b"y"),
    "a lease": lambda: fcntl.fcntl(os.open("/etc/hostname", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK),
}  # fmt: skip

for name, attempt in ATTEMPTS.items():
    try:
        attempt()
    except (OSError, ValueError):
        continue
    print(name)
print(f"tried {len(ATTEMPTS)}")
