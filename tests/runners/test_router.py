"""The router of two pools keeps the promises of one, for programs that are never warm."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from errands.runners.pool.pool import ShimPool
from errands.runners.pool.router import Router, make_runner
from tests.runners import test_capture, test_crashes, test_endings, test_records, test_steps
from tests.runners import test_stopping as stopping
from tests.runners.warm_stage import WarmStage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[WarmStage]:
    stage = WarmStage(tmp_path)
    await stage.pool.open()
    yield stage
    await stage.clear()
    await stage.pool.close()


test_signals = test_endings.test_a_death_by_signal_is_reported
test_streams = test_capture.test_both_streams_are_captured_in_order
test_cancel = stopping.test_a_cancelled_command_gets_sigterm
test_timeout = stopping.test_a_run_past_its_timeout_is_stopped_like_a_cancel
test_hooks = test_steps.test_hooks_run_around_the_command_and_see_how_it_went
test_adoption = test_crashes.test_a_run_outlives_its_pool_and_is_adopted
test_adopted_cancel = test_crashes.test_an_adopted_run_can_be_cancelled
test_killed_shim = test_crashes.test_when_everything_is_killed_the_run_is_lost_and_its_processes_are_ended
test_zygote = test_crashes.test_the_zygote_is_replaced_and_its_runs_do_not_notice
test_never_began = test_records.test_a_recovered_attempt_that_never_began_never_will


def test_there_is_one_pool_when_nothing_is_kept_warm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(keep: timedelta | None) -> type:
        return type(make_runner(str(tmp_path), list, keep=keep))

    assert made(timedelta(minutes=10)) is Router
    assert made(None) is ShimPool
    monkeypatch.setenv("ERRANDS_PLATFORM", "posix")
    assert made(timedelta(minutes=10)) is ShimPool
