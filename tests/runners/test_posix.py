"""The basic promises hold by process groups and `ps` too, where the system has nothing better."""

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


own, pause = test_crashes.own, test_crashes.pause

test_codes = test_endings.test_every_exit_code_arrives_as_it_is
test_signals = test_endings.test_a_death_by_signal_is_recorded_as_one
test_not_found = test_endings.test_a_command_that_is_nowhere_on_the_path_is_not_found
test_streams = test_capture.test_both_streams_are_captured_in_order
test_cap = test_capture.test_beyond_the_cap_beginning_and_end_are_kept_and_the_gap_is_marked
test_held_pipe = test_capture.test_a_grandchild_that_holds_the_pipe_does_not_hold_the_end
test_cancel = stopping.test_a_cancelled_command_is_asked_to_end
test_ignored = stopping.test_who_ignores_the_request_is_killed_after_the_grace
test_timeout = stopping.test_a_run_past_its_time_is_stopped_like_a_cancel
test_idle = stopping.test_a_run_that_says_nothing_for_too_long_is_stopped
test_memory = stopping.test_a_memory_hog_is_stopped_by_name
test_sequence = test_steps.test_a_sequence_stops_at_its_first_failure
test_hooks = test_steps.test_hooks_run_around_the_command_and_see_how_it_went
test_sent = test_input.test_a_task_reads_what_is_sent_to_it_until_the_end_of_input
test_terminal = test_input.test_a_task_with_a_terminal_sees_one_and_can_be_answered
test_adoption = test_crashes.test_a_run_outlives_its_pool_and_is_adopted
test_adopted_cancel = test_crashes.test_an_adopted_run_can_be_cancelled
test_killed_shim = test_crashes.test_after_all_were_killed_the_run_is_lost_and_its_processes_are_ended
test_never_began = test_records.test_an_attempt_that_never_began_never_will


async def test_a_group_is_ended_when_its_leader_is_gone(stage: Stage) -> None:
    run = stage.start("(sleep 1000 &); (sh -c 'sleep 1000 & sleep 1000' &); exit 7")
    ending = await stage.ended(run)

    assert ending.code == 7
    assert ending.leftovers >= 3
    assert stage.living(run) == []


def test_what_it_cannot_promise_is_said() -> None:
    assert any("setsid" in weakness for weakness in posix.WEAKNESSES)
    assert linux.WEAKNESSES == ()
