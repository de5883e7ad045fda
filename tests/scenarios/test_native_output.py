"""What a task printed, in our own dialect: pages, overviews and what is left out."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from errands.testing.speaker import Speaker, Stage, facts, fenced
from tests.gate import Gate
from tests.scenarios.native_calls import finished, run

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.spec("X5")]


@pytest.mark.spec("X18", "N10")
@pytest.mark.parametrize("tool", ["wait", "output"])
async def test_what_is_left_out_is_named_with_the_call_that_reads_it(native: Speaker, tool: str) -> None:
    found = await finished(native, "seq 1 20000")
    given = facts(await native(tool, id=found))
    call = f'output {{"id": "{found}", "offset": 0}}'
    assert f" bytes are left out here; to read all of it: {call} ...]" in given["output"]
    assert given["truncated"] is True
    assert facts(await native(tool, id=await finished(native, "seq 1 20")))["truncated"] is False


@pytest.mark.spec("O3")
async def test_output_in_pages_repeats_nothing_and_misses_nothing(native: Speaker) -> None:
    found = await finished(native, "seq 1 20000")
    offset, whole = 0, ""
    while (given := facts(await native("output", id=found, offset=offset)))["output"]:
        assert given["next_offset"] > offset
        offset = given["next_offset"]
        whole += fenced(given["output"])
    assert whole == "".join(f"{i}\n" for i in range(1, 20_001))
    assert (await native("output", id=found, offset=offset)).text == (
        f"(nothing more)\nnext offset: {offset} (the end)"
    )


@pytest.mark.spec("O3")
async def test_output_of_a_running_task_goes_on_where_it_was(
    stage: Stage, session: str, native: Speaker
) -> None:
    gate = Gate(stage.folder / f"gate-{session}")
    found = await run(native, f"echo one; cat {gate.path}; echo two")
    await native.engine.printed(found, "one")
    first = facts(await native("output", id=found, offset=0))
    assert fenced(first["output"]) == "one\n"
    await asyncio.to_thread(gate.opens)
    await native("wait", id=found)
    second = facts(await native("output", id=found, offset=first["next_offset"]))
    assert fenced(second["output"]) == "two\n"


async def test_output_without_an_offset_is_an_overview(native: Speaker) -> None:
    found = await finished(native, "seq 1 20000")
    shown = fenced((await native("output", id=found)).text)
    assert shown.startswith("1\n2\n")
    assert shown.endswith("\n20000\n")
    assert f'output {{"id": "{found}", "offset": 0}}' in shown


async def test_no_output(native: Speaker) -> None:
    found = await finished(native, "true")
    assert (await native("output", id=found)).text.endswith("(no output)")


@pytest.mark.parametrize("offset", [-1, 1.5, "x"])
async def test_output_refuses_an_offset_that_is_none(native: Speaker, offset: Any) -> None:
    said = await native.refused("output", id="x", offset=offset)
    assert said.startswith("Invalid arguments for output: offset must be ")


@pytest.mark.spec("O3")
async def test_output_that_was_not_kept_is_counted(stage: Stage, native: Speaker) -> None:
    view = await stage.engine.finished("seq 1 20000", parent=native.caller.session, output=8192)
    first = facts(await native("output", id=view.id, offset=0))
    rest = await native("output", id=view.id, offset=first["next_offset"])
    gap = re.match(r"\[([\d,]+) bytes before this were not kept\]\n", rest.text)
    assert gap is not None
    # The first part ends within a line, which the fence ends.
    kept = len(fenced(first["output"])) - 1 + len(fenced(rest.text))
    assert int(gap[1].replace(",", "")) + kept == facts(rest)["next_offset"]
    overview = facts(await native("output", id=view.id))
    assert overview["truncated"] is True
    assert fenced(overview["output"]).startswith("1\n2\n")
    assert fenced(overview["output"]).endswith("\n20000\n")
