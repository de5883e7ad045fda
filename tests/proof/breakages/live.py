"""Breakages of what views and metrics rest on (X9, X23, O9, O10)."""

from __future__ import annotations

from tests.proof.breakage import Breakage

BREAKAGES = [
    Breakage(
        "X9",
        "a submit into a full lane is not announced",
        file="engine/daemon/bell_server.py",
        old="                self._announce(names)\n",
        new="",
        test="engine/live/test_changes.py::"
        "test_a_submit_into_a_full_lane_and_all_verbs_of_the_queue_are_heard",
        fails_with="TimeoutError",
    ),
    Breakage(
        "X9",
        "a daemon that hangs is taken for a live one",
        file="engine/live/hub.py",
        old=" or now > self._heard + DEAD:",
        new=":",
        test="engine/live/test_changes.py::test_a_daemon_that_hangs_is_not_live",
        fails_with="TimeoutError",
    ),
    Breakage(
        "X9",
        "a change is read as everything, although its report is on the way",
        file="engine/live/hub.py",
        old="        elif not self._is_doubted:",
        new="        elif False:",
        test="engine/live/test_changes.py::"
        "test_a_change_that_is_seen_before_its_report_does_not_become_everything",
        fails_with="AssertionError",
    ),
    Breakage(
        "X9",
        "every change of the store is read as everything, although it was reported",
        file="engine/live/hub.py",
        old="            self._version = self._store.data_version()\n",
        new="            news.is_everything = self._version != self._store.data_version()\n",
        test="engine/live/test_changes.py::test_changes_that_are_reported_do_not_become_everything",
        fails_with="AssertionError",
    ),
    Breakage(
        "X9",
        "a change that nobody reported stays unknown",
        file="engine/live/hub.py",
        old="self._is_doubted = version, False\n            news.is_everything = True",
        new="self._is_doubted = version, False",
        test="engine/live/test_changes.py::test_a_change_that_nobody_reports_becomes_everything",
        fails_with="TimeoutError",
    ),
    Breakage(
        "X9",
        "a watcher that reads slowly does not learn that it missed something",
        file="engine/daemon/bell_server.py",
        old='self._unsent[client] = rest + b"changed *\\n"',
        new="self._unsent[client] = rest",
        test="engine/live/test_changes.py::test_a_watcher_that_reads_too_slowly_is_asked_to_read_everything",
        fails_with="AssertionError",
    ),
    Breakage(
        "X9",
        "names that could not be sent to a busy daemon are forgotten",
        file="engine/bell_client.py",
        old='self._owed = self._owed or b"announce *\\n"',
        new="pass",
        test="engine/live/test_changes.py::test_names_that_a_busy_daemon_could_not_be_given_are_everything",
        fails_with="AssertionError",
    ),
    Breakage(
        "X9",
        "of the changes that are gathered in a burst only the last one is reported",
        file="engine/daemon/bell_server.py",
        old="        self._gathered.update(changed)\n",
        new="        self._gathered = set(changed)\n",
        test="engine/live/test_changes.py::"
        "test_a_burst_of_changes_is_reported_in_few_lines_that_name_them_all",
        fails_with="AssertionError",
    ),
    Breakage(
        "O10",
        "new progress is not noticed",
        file="engine/live/growth.py",
        old='        f"{directory}/{PROGRESS}",\n        f"{own_files(directory)}/{PROGRESS}",\n',
        new="",
        test="engine/live/test_changes.py::test_output_and_progress_of_a_running_task_are_heard",
        fails_with="TimeoutError",
    ),
    Breakage(
        "X23",
        "a counter falls when tasks are cleared",
        file="engine/live/metrics.py",
        old="        ended[labels] = ended.get(labels, 0) + each.runs\n",
        new="        ended[labels] = core.store.counts().get(each.state, 0)\n",
        test="engine/live/test_metrics.py::test_counters_do_not_fall_when_tasks_are_cleared",
    ),
    Breakage(
        "X23",
        "a scraper that knows only the older format gets the newer one",
        file="engine/live/metrics.py",
        old="    return OLD_CONTENT_TYPE, old_text(found)\n",
        new="    return CONTENT_TYPE, text(found)\n",
        test="engine/live/test_metrics.py::test_an_older_scraper_gets_the_older_format",
    ),
    Breakage(
        "X23",
        "a scrape needs no token",
        file="engine/live/metrics_server.py",
        old="if not hmac.compare_digest(",
        new="if False and not hmac.compare_digest(",
        test="engine/live/test_metrics.py",
    ),
]
