"""Every state of ours has a word in every dialect, and the dialects use their own words and no others."""

from __future__ import annotations

from datetime import timedelta

import pytest

from errands.dialects import claude, co, completion, egirl_words, native, opencode, projections
from errands.dialects.output_text import elapsed
from errands.model.record import evolve
from errands.model.states import RUN_MOVES
from errands.model.view import View
from tests.dialects.views import every_view, standing, view
from tests.hand_clock import START

VIEWS = list(every_view())
LATER = START + timedelta(seconds=75)


@pytest.mark.spec("X1")
def test_opencode_has_five_words() -> None:
    words = {"running", "completed", "error", "cancelled", "resumed"}
    assert {projections.opencode(each) for each in VIEWS} == words == set(projections.OPENCODE)


@pytest.mark.spec("X2")
def test_claude_has_five_words_and_five_icons() -> None:
    words = {"pending", "running", "completed", "error", "cancelled"}
    assert {projections.claude(each) for each in VIEWS} == words == set(projections.CLAUDE)
    assert projections.ICONS == {
        "running": "⏳",
        "completed": "✓",
        "error": "✗",
        "cancelled": "⊘",
        "pending": "○",
    }


@pytest.mark.spec("X2")
def test_claude_has_three_types() -> None:
    assert projections.CLAUDE_TYPES == ("bash", "agent", "remote")
    assert {projections.claude_type(each) for each in VIEWS} <= set(projections.CLAUDE_TYPES)


@pytest.mark.spec("X3")
def test_co_has_five_words() -> None:
    words = {"pending", "running", "completed", "failed", "cancelled"}
    assert {projections.co(each) for each in VIEWS} == words == set(projections.CO)


@pytest.mark.spec("X4")
def test_egirl_has_five_words_for_tasks_and_four_for_runs() -> None:
    words = {"proposed", "active", "paused", "done", "failed"}
    assert {projections.egirl(each) for each in VIEWS} == {*words, None}
    assert words == set(projections.EGIRL)
    runs = {"running", "success", "failure", "skipped"}
    assert {projections.egirl_run(each.latest.state) for each in VIEWS} == {*runs, None}


def _called(each: View) -> str:
    kind = "once" if each.standing is None else f"standing{each.latest.number}"
    return f"{kind}-{each.task_state}-{each.latest.state}"


TABLE = [
    # ours,                             opencode,    co,          egirl,               claude
    (view("proposed", "pending"), "running", "pending", ("proposed", None), "pending"),
    (view("active", "pending"), "running", "pending", ("active", None), "pending"),
    (view("active", "pending", cause="resume"), "resumed", "pending", ("active", None), "pending"),
    (view("active", "running"), "running", "running", ("active", "running"), "running"),
    (view("active", "running", cause="resume"), "resumed", "running", ("active", "running"), "running"),
    (view("active", "running", stopping=True), "running", "running", ("active", "running"), "running"),
    (view("done", "completed"), "completed", "completed", ("done", "success"), "completed"),
    (view("active", "completed"), "completed", "completed", ("active", "success"), "completed"),
    (view("failed", "failed"), "error", "failed", ("failed", "failure"), "error"),
    (view("paused", "failed"), "error", "failed", ("paused", "failure"), "error"),
    (view("cancelled", "cancelled"), "cancelled", "cancelled", (None, "failure"), "cancelled"),
    (view("active", "skipped"), "cancelled", "cancelled", ("active", "skipped"), "cancelled"),
    (view("rejected", "cancelled"), "cancelled", "cancelled", (None, "failure"), "cancelled"),
    # Standing tasks: what waits for its next run is not over, whatever came of the last one.
    (standing("proposed", "pending", number=0), "running", "pending", ("proposed", None), "pending"),
    (standing("rejected", "pending", number=0), "cancelled", "cancelled", (None, None), "cancelled"),
    (standing("active", "pending", number=0), "running", "pending", ("active", None), "pending"),
    (standing("active", "pending"), "running", "pending", ("active", None), "pending"),
    (standing("active", "running"), "running", "running", ("active", "running"), "running"),
    (standing("active", "running", cause="resume"), "resumed", "running", ("active", "running"), "running"),
    (standing("active", "completed"), "running", "pending", ("active", "success"), "pending"),
    (standing("active", "completed", cause="resume"), "running", "pending", ("active", "success"), "pending"),
    (standing("active", "failed"), "running", "pending", ("active", "failure"), "pending"),
    (standing("active", "cancelled"), "running", "pending", ("active", "failure"), "pending"),
    (standing("active", "skipped"), "running", "pending", ("active", "skipped"), "pending"),
    (standing("paused", "pending", number=0), "running", "pending", ("paused", None), "pending"),
    (standing("paused", "running"), "running", "running", ("paused", "running"), "running"),
    (standing("paused", "failed"), "running", "pending", ("paused", "failure"), "pending"),
    (standing("done", "completed"), "completed", "completed", ("done", "success"), "completed"),
    (standing("done", "failed"), "completed", "completed", ("done", "failure"), "completed"),
    (standing("failed", "pending", number=0), "error", "failed", ("failed", None), "error"),
    (standing("failed", "failed"), "error", "failed", ("failed", "failure"), "error"),
    (standing("cancelled", "running", stopping=True), "running", "running", (None, "running"), "running"),
    (standing("cancelled", "completed"), "cancelled", "cancelled", (None, "success"), "cancelled"),
    (standing("cancelled", "pending", number=0), "cancelled", "cancelled", (None, None), "cancelled"),
]


@pytest.mark.spec("X1", "X2", "X3", "X4")
@pytest.mark.parametrize("row", TABLE, ids=lambda row: _called(row[0]))
def test_the_table_of_words(row: tuple[View, str, str, tuple[str | None, str | None], str]) -> None:
    ours, in_opencode, in_co, in_egirl, in_claude = row
    assert projections.opencode(ours) == in_opencode
    assert projections.co(ours) == in_co
    assert (projections.egirl(ours), projections.egirl_run(ours.latest.state)) == in_egirl
    assert projections.claude(ours) == in_claude


def test_every_view_can_be_listed_in_every_dialect() -> None:
    for each in VIEWS:
        for line in (
            native.listed(each, LATER),
            opencode.listed(each),
            *claude.listed([each], LATER),
            egirl_words.listed(each),
            *co.table([each], LATER),
        ):
            assert line
            assert "\n" not in line


def test_a_word_says_that_it_is_over_exactly_when_nothing_more_comes_of_it() -> None:
    for each in VIEWS:
        if each.standing is not None:
            over = not each.is_open
            assert (projections.opencode(each) not in ("running", "resumed")) is over
            assert (projections.claude(each) not in ("running", "pending")) is over
            assert (projections.co(each) not in ("running", "pending")) is over


def test_every_kind_of_trigger_has_its_word() -> None:
    assert {egirl_words.kind(each) for each in VIEWS} == set(egirl_words.KINDS)


def test_a_lost_run_does_not_run_forever() -> None:
    lost = view("failed", "failed")
    lost = evolve(lost, latest=evolve(lost.latest, elapsed=None, completed_at=START + timedelta(seconds=3)))

    assert elapsed(lost, LATER) == timedelta(seconds=3)
    assert elapsed(view("active", "running"), LATER) == timedelta(seconds=75)
    assert elapsed(view("active", "pending"), LATER) is None
    for line in (native.listed(lost, LATER), *claude.listed([lost], LATER), co.table([lost], LATER)[-1]):
        assert " 3.0s" in line


@pytest.mark.spec("A8")
def test_only_a_task_that_waits_for_approval_says_how_to_approve_it() -> None:
    for each in VIEWS:
        is_held = each.kind == "agent" and each.question is not None and each.latest.state == "running"
        says = completion.approval(each)
        assert bool(says) is (each.task_state == "proposed" or is_held)
        assert not says or "errands approve true-222222" in says


def test_there_is_a_view_for_every_state_of_a_run() -> None:
    assert {each.latest.state for each in VIEWS} == set(RUN_MOVES)
