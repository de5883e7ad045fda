"""Ten thousand notices through a channel that fails half the time, and a sender that is killed meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import defaultdict
from datetime import timedelta
from pathlib import Path

import pytest

from errands.engine.engine import Engine
from errands.model.notices.notice import Address
from errands.ports.home import Home
from tests.hand_clock import START

ROOT = Path(__file__).parents[2]
TASKS, RUNS, TARGETS = 100, 100, 10


@pytest.mark.spec("N5")
@pytest.mark.trap(1, 3, 16)
@pytest.mark.fault("F7", "F45")
def test_all_arrive_once_and_in_order(client: Engine, home: Home, tmp_path: Path) -> None:
    tasks = [f"task{number}-222222" for number in range(TASKS)]
    with client.store as store:
        for run in range(1, RUNS + 1):
            for number, task in enumerate(tasks):
                address = Address(channel="stormy", target=str(number % TARGETS))
                store.add_notice(f"{task}.{run}", "completed", address, body="{}", now=START)
        for run in range(1, 101):
            dead = Address(channel="dead", target="me")
            store.add_notice(f"x-222222.{run}", "completed", dead, body="{}", now=START - timedelta(days=1))

    ledger = tmp_path / "ledger"
    kills = 0
    while any(address.channel == "stormy" for address, _ in client.store.queues()):
        words = [sys.executable, "-m", "tests.channels.storm", home.path, str(ledger), str(kills)]
        code = subprocess.run(words, cwd=ROOT, check=False, timeout=60, stderr=subprocess.DEVNULL).returncode
        assert code in (0, -signal.SIGKILL)
        kills += code != 0
        assert kills < 200, "it never comes to an end"

    deliveries = [line.split() for line in ledger.read_text().splitlines()]
    keys: dict[str, list[str]] = {}
    for key, *content in deliveries:
        assert keys.setdefault(key, content) == content, "a delivery changed when it was sent again"
    assert kills > 3
    assert len(deliveries) > len(keys), "nothing was sent twice, so nothing was tested"

    arrived: dict[str, list[int]] = defaultdict(list)
    for content in keys.values():
        for each in content:
            name, _, which = each.partition(":")[2].rpartition(".")
            arrived[name].append(int(which))
    assert arrived == {task: list(range(1, RUNS + 1)) for task in tasks}
    assert {notice.address.channel for notice in client.store.undelivered()} == {"dead"}
