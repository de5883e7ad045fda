"""Ways to do what a sandbox forbids that take more than a line; each raises if it is refused.

They are loaded by `escapes.py`, whose words of the command line say what is outside.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys

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


def process_memory(x86: int, arm: int) -> None:
    buffer = ctypes.create_string_buffer(8)
    ours, theirs = (struct.pack("QQ", place, 8) for place in (ctypes.addressof(buffer), 0x400000))
    call(x86, arm, int(PID), ours, 1, theirs, 1, 0)


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


def by_old_calls() -> None:
    """Ask for the number of the process by the calls of 32 bits, which a filter for 64 may not know."""
    if not X86:
        raise OSError("there are none")
    child = os.fork()
    if child == 0:  # a kernel that lacks these calls ends whoever makes one
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(b"\x53\xb8\x14\0\0\0\xcd\x80\x5b\xc3")  # mov $20, %eax; int $0x80
        place = ctypes.addressof(ctypes.c_char.from_buffer(code))
        os._exit(0 if ctypes.CFUNCTYPE(ctypes.c_int)(place)() > 0 else 1)
    if os.waitpid(child, 0)[1]:
        raise OSError("refused")


def group_folder() -> None:
    os.mkdir("shared", 0o2777)
    os.chmod("shared", 0o2777)


def from_a_folder_that_is_gone() -> None:
    place = os.getcwd()
    os.mkdir("gone")
    os.chdir("gone")
    try:
        os.rmdir(f"{place}/gone")
        os.close(os.open(f"../../{os.path.basename(OUTSIDE)}/secret", os.O_RDONLY))
    finally:
        os.chdir(place)


def privileged(pid: str) -> None:
    """Find a capability, or no filter, in a process of the sandbox."""
    with open(f"/proc/{pid}/status") as file:
        facts = dict(line.split(":", 1) for line in file if ":" in line)
    have = [int(facts[f"Cap{each}"], 16) for each in ("Prm", "Eff", "Inh", "Amb")]
    if not any(have) and facts["Seccomp"].strip() == "2" and facts["NoNewPrivs"].strip() == "1":
        raise OSError("it has none")


def watched(path: str) -> None:
    watcher = LIBC.inotify_init()
    if LIBC.inotify_add_watch(watcher, path.encode(), 0xFFF) < 0:
        raise OSError("refused")


def linked_by_descriptor() -> None:
    file = os.open(".git/config", os.O_RDONLY)
    os.link(f"/proc/self/fd/{file}", "config-too", follow_symlinks=True)


def asked_of(request: int, place: str = ".") -> None:
    """Make a request to a file system that changes it."""
    fcntl.ioctl(os.open(place, os.O_RDONLY), request, bytes(256))
