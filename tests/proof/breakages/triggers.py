"""Breakages of triggers (T)."""

from __future__ import annotations

from tests.proof.breakage import Breakage

BREAKAGES = [
    Breakage(
        "T1",
        "a cron line is read in UTC, whatever its time zone",
        file="model/schedule/slots.py",
        old="yield from times(schedule.line, schedule.zone, after=after)",
        new='yield from times(schedule.line, "UTC", after=after)',
        test="engine/triggers/test_schedules.py::test_the_next_five_times_are_shown_before_anything_starts",
    ),
    Breakage(
        "T2",
        "an interval that goes on after a pause counts from the creation of its task",
        file="engine/triggers/schedules.py",
        old="trigger=evolve(task.trigger, anchor=now)",
        new="trigger=task.trigger",
        test="engine/triggers/test_unpause.py::test_an_unpaused_task_continues_from_now_without_catching_up",
    ),
    Breakage(
        "T2",
        "a task runs once more than its maximum",
        file="engine/triggers/scheduler.py",
        old="cursor.runs + int(starts) >= schedule.max_runs",
        new="cursor.runs + int(starts) > schedule.max_runs",
        also=(("model/rollup.py", "cursor.runs >= trigger.max_runs", "cursor.runs > trigger.max_runs"),),
        test="engine/triggers/test_schedules.py::test_a_task_is_done_after_its_last_run",
    ),
    Breakage(
        "T3",
        "every missed tick runs on its own",
        file="model/schedule/slot_record.py",
        old="    until = due[-1] if due else since\n",
        new="    due = due[:1]\n    until = due[-1] if due else since\n",
        test="engine/triggers/test_schedules_time.py::test_a_sleep_of_eight_hours",
    ),
    Breakage(
        "T4",
        "a tick that finds the last run still going leaves no record",
        file="model/schedule/slot_record.py",
        old='        decided.update((slot, ("skipped", OVERLAP)) for slot in good)\n',
        new="",
        test="engine/triggers/test_schedules.py::test_a_slot_that_overlaps_the_previous_run_is_skipped_with",
    ),
    Breakage(
        "T5",
        "a paused task cannot be run now",
        file="engine/triggers/schedules.py",
        old='elif task.state not in ("active", "paused"):',
        new='elif task.state != "active":',
        test="engine/triggers/test_schedules.py::test_firing_runs_now_and_leaves_the_schedule_unchanged",
        fails_with="IllegalMove",
    ),
    Breakage(
        "T6",
        "a burst of events that lasts longer than the debounce becomes several runs",
        file="engine/triggers/debounce.py",
        old="min(last + trigger.debounce, first + trigger.max_wait)",
        new="min(first + trigger.debounce, first + trigger.max_wait)",
        test="sources/test_debounce.py::test_a_burst_ends_when_it_is_quiet_or_has_lasted_long_enough",
    ),
    Breakage(
        "T6",
        "a webhook is believed whatever its signature",
        file="sources/receiver.py",
        old='if not hmac.compare_digest(given, f"sha256={mark}".encode()):',
        new="if not given:",
        test="sources/test_webhooks.py::test_deliveries_of_github_run_a_task",
    ),
    Breakage(
        "T7",
        "one recurring task more than the cap is accepted",
        file="engine/triggers/schedules.py",
        old="if count >= config.schedules.most:",
        new="if count > config.schedules.most:",
        test="engine/triggers/test_schedules.py::test_the_number_of_schedules_is_limited_and_the_error_says_what_to_do",
    ),
    Breakage(
        "T8",
        "a daemon that stops forgets when schedules are due",
        file="engine/daemon/loops.py",
        old="        await self._runner.close()\n        self._store.close()\n",
        new="        await self._runner.close()\n"
        "        with self._store:\n"
        '            self._store.db.write("UPDATE hearings SET next_at = NULL")\n'
        "        self._store.close()\n",
        test="engine/triggers/test_schedules.py::test_an_interval_keeps_its_grid_across_engines",
    ),
    Breakage(
        "T9",
        "the history of runs is compacted as early as finished tasks are removed",
        file="engine/daemon/janitor.py",
        old="before=now - retention.history, limit=BATCH",
        new="before=now - retention.keep, limit=BATCH",
        test="engine/triggers/test_run_history.py::test_earlier_runs_are_removed_after_a_month_and_still_counted",
    ),
    Breakage(
        "T9",
        "the history of an agent has no answers",
        file="engine/details.py",
        old="result=each.answer, ",
        new="",
        test="engine/triggers/test_run_history.py::test_every_run_is_kept_with_its_times_its_state_its_result",
        fails_with="TypeError",
    ),
    Breakage(
        "T10",
        "two daemons can both record the same slot",
        file="stores/sqlite/schedules.py",
        old="WHERE task = {_SEQ} AND heard = ?\n",
        new="WHERE task = {_SEQ} AND heard >= 0 * ?\n",
        test="engine/triggers/test_schedules_time.py::test_slots_that_another_scheduler_fired_meanwhile_are",
    ),
    Breakage(
        "T10",
        "slots that a later one ran for have no record",
        file="model/schedule/slot_record.py",
        old='    decided.update((slot, ("coalesced", LATER)) for slot in good[:-1])\n',
        new="",
        test="model/schedule/test_schedule.py::test_what_was_missed_ends_as_the_policy_says",
    ),
    Breakage(
        "T11",
        "a watch starts without its baseline after a restart",
        file="engine/triggers/listener.py",
        old="await source.open(None if watch is None else watch.baseline)",
        new="await source.open(None)",
        test="sources/test_files.py::test_changes_while_no_daemon_runs_are_found_afterwards",
    ),
]
