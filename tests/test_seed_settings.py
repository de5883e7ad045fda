"""Every setting of the systems we come from has an equivalent here that does something.

The table in docs/reference/configuration.md names them; each configuration key in it is proven below to
change what happens, for the tasks that the setting was about.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from errands import config
from errands.bootstrap import open_engine
from errands.engine.bell_client import BellClient
from errands.engine.daemon.janitor import Janitor
from errands.model.errors import ErrandsError
from errands.model.options.draft import Draft
from errands.testing.engines import TestEngine, embedded, until
from tests.hand_clock import HandClock

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.spec("X13")
Proof = Callable[[str], Awaitable[None]]


def rows() -> list[list[str]]:
    text = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    table = text.partition("## Coming from elsewhere\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def keys() -> set[str]:
    """Return the configuration keys that the table names as equivalents."""
    named = {word for row in rows() for word in re.findall(r"`([a-z_]+\.[a-z_]+)\b", row[-1])}
    return {each for each in named if not each.endswith((".md", ".NAME"))}


async def gives(
    setting: str, value: str, home: str, proof: Callable[[TestEngine], Awaitable[object]]
) -> None:
    async with embedded(home, **{setting: value}) as engine:
        await proof(engine)


async def waits_in(engine: TestEngine, **options: Any) -> None:
    """Start what would run at once, and see that it stays in the queue while other tasks come and go."""
    held = await (engine.ask("`true`", agent="offline", **options) if options else engine.submit("true"))
    await engine.finished("true", lane="shell" if options else "agent")
    assert (await engine.get(held.id)).latest.state == "pending"


async def lane_of_agents(home: str) -> None:
    async def proof(engine: TestEngine) -> None:
        await waits_in(engine, lane="agent")
        every = await engine.ask("`true`", agent="offline", every="1h")
        await engine.fire(every.id)
        await engine.finished("true")
        assert (await engine.get(every.id)).latest.state == "pending"

    await gives("lanes.agent", "0", home, proof)


async def lane_of_a_local_model(home: str) -> None:
    await gives("lanes.local", "0", home, lambda engine: waits_in(engine, lane="local"))


async def lane_of_commands(home: str) -> None:
    await gives("lanes.shell", "0", home, waits_in)


async def grace(home: str) -> None:
    async def proof(engine: TestEngine) -> None:
        task = await engine.started("trap '' TERM; echo ready; while :; do sleep 0.05; done")
        await engine.cancel(task.id)
        ended = await engine.wait(task.id, timeout=60)
        assert (ended.latest.elapsed or 99) < 4  # the default grace is 5 s

    await gives("runs.grace", "100ms", home, proof)


async def lines_of_a_status(home: str) -> None:
    async def proof(engine: TestEngine) -> None:
        task = await engine.finished("seq 1 9")
        assert (await engine.tail(task.id)).content == b"8\n9\n"

    await gives("runs.tail_lines", "2", home, proof)


async def most_output(home: str) -> None:
    async def proof(engine: TestEngine) -> None:
        assert (await engine.finished("seq 1 100000")).latest.truncated

    await gives("runs.output_cap", "64K", home, proof)


async def longest_answer(home: str) -> None:
    async def proof(engine: TestEngine) -> None:
        task = await engine.ask("`sleep 600`", agent="offline", every="1h")
        run = (await engine.fire(task.id)).latest.id
        await until(lambda: engine.engine.run(run).state == "failed")
        (latest,) = [each for each in engine.engine.history(task.id) if each.id == run]
        assert latest.failure == "timeout"

    await gives("agents.timeout", "300ms", home, proof)


async def longest_sleep(home: str) -> None:
    async def proof(engine: TestEngine) -> None:
        other = open_engine(engine.engine.home, engine.engine.config)
        other.bell = BellClient("/nowhere")  # so that nothing wakes the loops
        task = other.submit(Draft(command="true"))
        other.close()
        await until(lambda: engine.engine.has_ended(task.id))

    await gives("daemon.tick", "20ms", home, proof)


async def wait_before_a_retry(home: str) -> None:
    async def proof(engine: TestEngine) -> None:
        task = await engine.finished("exit 3", retries=1)
        assert task.runs == 2

    await gives("schedules.backoff", "1ms", home, proof)


async def most_recurring_tasks(home: str) -> None:
    async def proof(engine: TestEngine) -> None:
        await engine.submit("true", every="1h")
        with pytest.raises(ErrandsError, match="1"):
            await engine.submit("true", every="1h")

    await gives("schedules.most", "1", home, proof)


async def default_channels(home: str) -> None:
    async def proof(engine: TestEngine) -> None:
        task = await engine.finished("true")
        assert [each.channel for each in task.channels] == ["desktop"]

    await gives("notices.channels", "desktop", home, proof)


async def removed(home: str, at: timedelta, **settings: str) -> int:
    """Return how many tasks and runs are removed that ended so long ago."""
    async with embedded(home) as engine:
        task = await engine.finished("exit 1")
        await engine.restart(task.id)
        await engine.wait(task.id)
        clock = HandClock(engine.now())
        clock.turn(at)
        kept = config.load(overrides={each.replace("_", ".", 1): settings[each] for each in settings})
        return await Janitor(engine.engine.store, engine.engine.home, kept, clock).sweep()


async def kept_for(home: str) -> None:
    assert await removed(home, timedelta(days=8), retention_keep="9d") == 0
    assert await removed(home, timedelta(days=8), retention_keep="7d") > 0


async def cleaned_up(home: str) -> None:
    assert await removed(home, timedelta(days=99), retention_enabled="false") == 0
    assert await removed(home, timedelta(days=99), retention_enabled="true") > 0


async def history_of(home: str) -> None:
    long = {"retention_keep": "99d"}
    assert await removed(home, timedelta(days=8), retention_history="9d", **long) == 0
    assert await removed(home, timedelta(days=8), retention_history="7d", **long) > 0


PROOFS: dict[str, Proof] = {
    "lanes.shell": lane_of_commands,
    "lanes.agent": lane_of_agents,
    "lanes.local": lane_of_a_local_model,
    "runs.grace": grace,
    "runs.tail_lines": lines_of_a_status,
    "runs.output_cap": most_output,
    "agents.timeout": longest_answer,
    "daemon.tick": longest_sleep,
    "schedules.backoff": wait_before_a_retry,
    "schedules.most": most_recurring_tasks,
    "notices.channels": default_channels,
    "retention.keep": kept_for,
    "retention.enabled": cleaned_up,
    "retention.history": history_of,
}
# tests/engine/agents/test_discovery.py proves what these do.
ELSEWHERE = {"discovery.enabled", "discovery.every", "discovery.idle"}


def test_every_setting_of_the_table_is_proven() -> None:
    assert keys() == {*PROOFS, *ELSEWHERE}


@pytest.mark.parametrize("key", PROOFS)
async def test_the_setting_has_an_effect(key: str, own_home: Path) -> None:
    await PROOFS[key](str(own_home))
