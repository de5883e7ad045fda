"""Scarce resources: a run waits for them, is never started twice, and can be cancelled meanwhile."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest

from tests.runners.stage import Stage, until


@pytest.fixture
async def make_room(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """Let the only ready shim open no more files until the returned function is called."""
    monkeypatch.setattr("errands.runners.pool.pool.BUSY_TIME", 0.05)
    first = stage.start("true")
    await stage.ended(first)
    shim = stage.shim_of(first)
    usual = resource.prlimit(shim, resource.RLIMIT_NOFILE)
    resource.prlimit(shim, resource.RLIMIT_NOFILE, (3, usual[1]))
    return lambda: resource.prlimit(shim, resource.RLIMIT_NOFILE, usual)


@pytest.mark.fault("F15")
async def test_a_run_without_free_descriptors_begins_once_there_are_some(
    stage: Stage, make_room: Callable[[], object], caplog: pytest.LogCaptureFixture
) -> None:
    run = stage.start("echo once >> count")
    await until(lambda: caplog.text.count(f"run {run} cannot start yet: Too many open files") > 2, "tries")
    assert not (stage.directory(run) / "record.1").exists()
    make_room()

    assert (await stage.ended(run)).code == 0
    assert (stage.folder / "count").read_text() == "once\n"


@pytest.mark.spec("L9")
async def test_a_run_that_waits_for_descriptors_can_be_cancelled(
    stage: Stage, make_room: Callable[[], object]
) -> None:
    run = stage.start("echo ran >> count")
    await until(lambda: run in stage.pool._delayed, "a try in vain")
    stage.pool.stop(run, grace=5)
    make_room()

    assert (await stage.ended(run)).stop == "cancel"
    assert (await stage.run("echo next >> count")).code == 0
    assert (stage.folder / "count").read_text() == "next\n"


async def test_a_cancel_that_arrives_during_a_failing_start_counts(
    stage: Stage, make_room: Callable[[], object]
) -> None:
    run = stage.start("echo ran >> count")
    stage.pool.stop(run, grace=5)
    ending = await stage.ended(run)
    make_room()

    assert ending.stop == "cancel"
    assert not (stage.folder / "count").exists()
