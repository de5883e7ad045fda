"""The portable fallback keeps the basic promises with process groups and `ps`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from errands.runners.system import linux, posix, system
from tests.runners import test_capture, test_crashes, test_endings, test_input, test_records, test_steps
from tests.runners import test_stopping as stopping
from tests.runners.stage import Stage


@pytest.fixture
async def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setenv("ERRANDS_PLATFORM", "posix")
    stage = Stage(tmp_path)
    assert system.choose().NAME == posix.NAME
    await stage.pool.open()
    yield stage
    await stage.clear()
    await stage.pool.close()


test_codes = test_endings.test_every_exit_code_is_reported
test_signals = test_endings.test_a_death_by_signal_is_reported
test_not_found = test_endings.test_a_command_that_is_not_on_the_path_is_not_found
test_streams = test_capture.test_both_streams_are_captured_in_order
test_cap = test_capture.test_beyond_the_cap_both_ends_are_kept_and_the_gap_is_marked
test_held_pipe = test_capture.test_a_grandchild_that_keeps_the_pipe_open_does_not_delay_the_end
test_cancel = stopping.test_a_cancelled_command_gets_sigterm
test_ignored = stopping.test_a_command_that_ignores_sigterm_is_killed_after_the_grace_period
test_timeout = stopping.test_a_run_past_its_timeout_is_stopped_like_a_cancel
test_idle = stopping.test_a_run_that_is_silent_for_too_long_is_stopped
test_memory = stopping.test_a_run_that_exceeds_its_memory_is_stopped_for_that
test_sequence = test_steps.test_a_sequence_stops_at_its_first_failure
test_hooks = test_steps.test_hooks_run_around_the_command_and_see_how_it_went
test_sent = test_input.test_a_task_reads_what_is_sent_to_it_until_the_end_of_input
test_terminal = test_input.test_a_task_with_a_terminal_sees_one_and_can_be_answered
test_adoption = test_crashes.test_a_run_outlives_its_pool_and_is_adopted
test_adopted_cancel = test_crashes.test_an_adopted_run_can_be_cancelled
test_killed_shim = test_crashes.test_when_everything_is_killed_the_run_is_lost_and_its_processes_are_ended
test_never_began = test_records.test_a_recovered_attempt_that_never_began_never_will


async def test_a_group_is_ended_when_its_leader_is_gone(stage: Stage) -> None:
    run = stage.start("(sleep 1000 &); (sh -c 'sleep 1000 & sleep 1000' &); exit 7")
    ending = await stage.ended(run)

    assert ending.code == 7
    assert ending.leftovers >= 3
    assert stage.living(run) == []


def test_the_fallback_says_what_it_cannot_promise() -> None:
    assert any("setsid" in weakness for weakness in posix.WEAKNESSES)
    assert linux.WEAKNESSES == ()
