"""The network of the chaos over hosts loses what it should, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.chaos.fleet.network import Network, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "never")

# Answers every datagram, and tells each on its output.
_ECHO = """
import socket
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("0.0.0.0", 7000))
print("ready", flush=True)
while True:
    said, sender = line.recvfrom(64)
    print("heard", said.decode(), flush=True)
    line.sendto(said, sender)
"""
_ASK = """
import socket, sys
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.settimeout(float(sys.argv[3]))
line.sendto(sys.argv[2].encode(), (sys.argv[1], 7000))
try:
    print(line.recv(64).decode())
except TimeoutError:
    print("nothing")
"""


class _Pair:
    def __init__(self, network: Network, echo: subprocess.Popen[str]) -> None:
        self.network = network
        self._echo = echo

    def ask(self, word: str, *, answered: bool) -> bool:
        """Send a word from a to b; return whether it came back, after long enough a wait to be sure."""
        wait = "30" if answered else "0.3"
        words = [*self.network.on("a"), sys.executable, "-c", _ASK, self.network.address("b"), word, wait]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == word

    def heard(self) -> str:
        assert self._echo.stdout is not None
        return self._echo.stdout.readline().strip()


@pytest.fixture
def pair() -> Iterator[_Pair]:
    with Network("a", "b") as network:
        words = [*network.on("b"), sys.executable, "-c", _ECHO]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as echo:
            try:
                made = _Pair(network, echo)
                assert made.heard() == "ready"
                yield made
            finally:
                echo.kill()


def test_what_is_unplugged_hears_nothing_until_it_is_plugged_in(pair: _Pair) -> None:
    assert pair.ask("one", answered=True)
    pair.network.unplug("b")
    assert not pair.ask("two", answered=False)
    pair.network.plug_in("b")
    assert pair.ask("three", answered=True)
    assert [pair.heard(), pair.heard()] == ["heard one", "heard three"]


def test_a_cut_has_one_direction(pair: _Pair) -> None:
    pair.network.cut_from("b")
    assert not pair.ask("one", answered=False)
    assert pair.heard() == "heard one"
    pair.network.mend("b")
    pair.network.cut_to("b")
    assert not pair.ask("two", answered=False)
    pair.network.mend("b")
    assert pair.ask("three", answered=True)
    assert pair.heard() == "heard three"
