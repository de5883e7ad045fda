"""A network of hosts on one machine: a namespace for each of them, and a router between all.

What is cut is cut in the router, so neither end gets an error: packets are lost, as behind a broken switch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from types import TracebackType


class Network:
    """Hosts by name. Only root can have it; leaving the context removes all of it."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._prefix = f"errands{os.getpid()}"
        self._router = f"{self._prefix}-router"
        self._made: list[str] = []

    def __enter__(self) -> Network:
        try:
            self._make()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def address(self, name: str) -> str:
        return f"10.213.{self._names.index(name)}.2"

    def on(self, name: str) -> tuple[str, ...]:
        """Return the words that start a command on a host."""
        return ("ip", "netns", "exec", self._namespace(name))

    def pids(self, name: str) -> list[int]:
        """List the processes of a host."""
        done = subprocess.run(
            ["ip", "netns", "pids", self._namespace(name)], capture_output=True, text=True, check=True
        )
        return [int(pid) for pid in done.stdout.split()]

    def unplug(self, name: str) -> None:
        """Take the link of a host down."""
        self._in_router("link", "set", self._link(name), "down")

    def plug_in(self, name: str) -> None:
        """Take the link of a host up; routes through it come back with it."""
        self._in_router("link", "set", self._link(name), "up")

    def cut_from(self, name: str) -> None:
        """Lose everything that a host sends; it still hears the others."""
        self._in_router("rule", "add", "from", self.address(name), "blackhole")

    def cut_to(self, name: str) -> None:
        """Lose everything that is sent to a host; the others still hear it."""
        self._in_router("rule", "add", "to", self.address(name), "blackhole")

    def mend(self, name: str) -> None:
        """Undo `cut_from` and `cut_to`."""
        for direction in ("from", "to"):
            self._ip(
                "-n", self._router, "rule", "del", direction, self.address(name), "blackhole", check=False
            )

    def _make(self) -> None:
        self._add_namespace(self._router)
        for name in self._names:
            place = self._namespace(name)
            self._add_namespace(place)
            self._ip("-n", place, "link", "set", "lo", "up")
            link, gateway = self._link(name), f"10.213.{self._names.index(name)}.1"
            self._in_router("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", place)
            self._in_router("addr", "add", f"{gateway}/24", "dev", link)
            self._in_router("link", "set", link, "up")
            self._ip("-n", place, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
            self._ip("-n", place, "link", "set", "eth0", "up")
            self._ip("-n", place, "route", "add", "default", "via", gateway)
        subprocess.run(
            ["ip", "netns", "exec", self._router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"],
            check=True,
        )

    def _add_namespace(self, name: str) -> None:
        self._ip("netns", "add", name)
        self._made.append(name)

    def _remove(self) -> None:
        while self._made:
            self._ip("netns", "del", self._made.pop(), check=False)

    def _namespace(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def _link(self, name: str) -> str:
        return f"to-{name}"

    def _in_router(self, *words: str) -> None:
        self._ip("-n", self._router, *words)

    def _ip(self, *words: str, check: bool = True) -> None:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def missing() -> str:
    """Return why there can be no network here, or an empty string."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    if shutil.which("ip") is None:
        return "iproute2 is not installed"
    return ""
