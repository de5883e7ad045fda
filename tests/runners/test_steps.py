"""Sequences and hooks: several commands, one run."""

from __future__ import annotations

import pytest

from tests.runners.stage import Stage


@pytest.mark.spec("L19")
async def test_a_sequence_runs_in_order(stage: Stage) -> None:
    run = stage.start("echo one", "echo two", "echo three")
    ending = await stage.ended(run)

    assert (ending.code, ending.step) == (0, 2)
    assert stage.output(run) == b"$ echo one\none\n$ echo two\ntwo\n$ echo three\nthree\n"


@pytest.mark.spec("L19")
async def test_a_sequence_stops_at_its_first_failure(stage: Stage) -> None:
    run = stage.start("echo one", "exit 3", "echo never")
    ending = await stage.ended(run)

    assert (ending.code, ending.step) == (3, 1)
    assert b"never" not in stage.output(run)


@pytest.mark.spec("L19", "L8")
async def test_a_command_of_a_sequence_that_cannot_start_stops_it(stage: Stage) -> None:
    run = stage.start("echo one", ("no-such-command",), "echo never")
    ending = await stage.ended(run)

    assert (ending.error, ending.step) == ("command not found: no-such-command", 1)
    assert b"command not found: no-such-command\n" in stage.output(run)
    assert b"never" not in stage.output(run)


@pytest.mark.spec("L19")
async def test_a_cancel_ends_the_whole_sequence(stage: Stage) -> None:
    run = stage.start("echo ready; sleep 1000", "echo never")
    await stage.printed(run, b"ready")

    stage.pool.stop(run, grace=5)
    ending = await stage.ended(run)

    assert ending.stop == "cancel"
    assert b"never\n" not in stage.output(run).replace(b"$ echo never\n", b"")


async def test_processes_left_by_one_command_keep_running_for_the_next(stage: Stage) -> None:
    run = stage.start("sleep 1000 & echo $! > server", "kill -0 $(cat server)")
    ending = await stage.ended(run)

    assert ending.code == 0
    assert ending.leftovers == 1
    assert stage.living(run) == []


@pytest.mark.spec("L16")
async def test_hooks_run_around_the_command_and_see_how_it_went(stage: Stage) -> None:
    run = stage.start(
        "echo main; exit 3",
        before=["echo before $ERRANDS_RUN_ID"],
        lastly=["echo after $ERRANDS_EXIT_CODE $ERRANDS_OUTCOME"],
    )
    ending = await stage.ended(run)

    said = [line for line in stage.output(run).decode().split("\n") if not line.startswith("$")]
    assert said == [f"before {run}", "main", "after 3 failed", ""]
    assert (ending.code, ending.hooks) == (3, ("before:0", "finally:0"))


@pytest.mark.spec("L16")
async def test_failing_hooks_are_reported_and_do_not_change_the_result(stage: Stage) -> None:
    ending = await stage.run("exit 0", before=["exit 1"], lastly=["exit 2", "kill -9 $$"])

    assert (ending.code, ending.signal, ending.error) == (0, None, None)
    assert ending.hooks == ("before:1", "finally:2", "finally:-9")


@pytest.mark.spec("L16")
@pytest.mark.parametrize(("stop", "outcome"), [("cancel", "143 cancelled"), ("timeout", "143 failed")])
async def test_final_hooks_run_after_a_stop_too(stage: Stage, stop: str, outcome: str) -> None:
    run = stage.start(
        "echo ready; exec sleep 1000",
        lastly=["echo after $ERRANDS_EXIT_CODE $ERRANDS_OUTCOME"],
        timeout=0.3 if stop == "timeout" else None,
    )
    if stop == "cancel":
        await stage.printed(run, b"ready")
        stage.pool.stop(run, grace=5)
    ending = await stage.ended(run)

    assert ending.stop == stop
    assert f"after {outcome}\n".encode() in stage.output(run)


@pytest.mark.spec("L16")
async def test_a_cancel_during_a_final_hook_ends_the_hook_and_keeps_the_result(stage: Stage) -> None:
    run = stage.start("exit 0", lastly=["echo hook runs; exec sleep 1000"])
    await stage.printed(run, b"hook runs\n")

    stage.pool.stop(run, grace=1)
    ending = await stage.ended(run)

    assert (ending.stop, ending.code, ending.hooks) == (None, 0, ("finally:-15",))
