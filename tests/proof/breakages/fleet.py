"""Breakages of work on several hosts (X12)."""

from __future__ import annotations

from tests.proof.breakage import Breakage

BREAKAGES = [
    Breakage(
        "X12",
        "a shim does not look at its fuse",
        file="runners/shim/run.py",
        old='        if now >= self._fuse.due and self._fuse.look(now):\n            return "fuse"\n',
        new="",
        test="runners/test_fuse.py::test_a_deadline_that_cannot_be_read_has_passed",
        fails_with="AssertionError",
    ),
    Breakage(
        "X12",
        "the grace of a cancelled run outlasts its fuse",
        file="runners/shim/run.py",
        old="            if (left := self._fuse.wait(left) or 0.0) <= 0:\n                break\n",
        new="",
        test="runners/test_fuse.py::test_the_grace_of_a_cancelled_run_does_not_outlast_its_fuse",
        fails_with="AssertionError",
    ),
    Breakage(
        "X12",
        "an answer at home counts for whatever the host would run now",
        file="engine/fleet/placed_run.py",
        old='"consent": "none" if placement.digest else _consent(task.approved_by),',
        new='"consent": _consent(task.approved_by),',
        test="scenarios/test_hosts.py::test_what_changed_since_it_was_approved_is_asked_about_again",
    ),
    Breakage(
        "X12",
        "a host process that starts does not look for the runs that it had",
        file="engine/fleet/host_side.py",
        old="        for taken in [*known.values(), *noted]:\n",
        new="        for taken in list[Taken]():\n",
        test="engine/fleet/test_host_side.py::test_a_run_that_was_taken_and_not_submitted_is_found_again",
        fails_with="TimeoutError",
    ),
    Breakage(
        "X12",
        "a run of another home has no fuse",
        file="engine/daemon/launch.py",
        old="        if task.door == FLEET:\n            launch = evolve(launch, fuse=self._home.fuse)\n",
        new="",
        test="engine/fleet/test_host_side.py::test_a_run_whose_fuse_burns_is_lost",
        fails_with="TimeoutError",
    ),
    Breakage(
        "X12",
        "an end is acknowledged before the home has recorded it",
        file="engine/fleet/home_side.py",
        old="                await self._record(view, *running[view.key])\n",
        new="                recorded.append(view.key)\n",
        test="scenarios/test_hosts.py::test_a_task_runs_on_the_host_with_its_label",
        fails_with="TimeoutExpired",
    ),
    Breakage(
        "X12",
        "a task that may not run again does, when its host is lost",
        file="engine/fleet/placed_run.py",
        old="        policy=task.limits.on_loss,\n",
        new='        policy="again",\n',
        test="scenarios/test_hosts_crashes.py::test_a_lost_host_is_given_up_and_only_what_may_run_again_does",
    ),
    Breakage(
        "X12",
        "a task of another home counts as over when its first try has failed",
        file="engine/fleet/far_task.py",
        old="    if run.acked:\n        return not run.goes_on\n",
        new="    if run.acked:\n        return True\n",
        test="scenarios/test_hosts_anywhere.py::test_a_task_that_is_tried_again_is_awaited_to_its_last_try",
        fails_with="AssertionError",
    ),
    Breakage(
        "L21",
        "a request of another home is answered and not carried out",
        file="engine/fleet/home_side.py",
        old='            self._engine.cancel([task.id], by=f"{FLEET} {request.author}")\n',
        new="",
        test="scenarios/test_hosts_anywhere.py::test_a_task_that_waits_for_approval_says_where_it_is_approved",
    ),
]
