"""When the witness says that a command ran twice at once, and when it cannot know."""

from __future__ import annotations

from tests.chaos.fleet.witness import TICK, WAKES, Life


def killed(*, seen: float, awake: float | None = None) -> Life:
    return Life(token="deed1", pid=1, start=10.0, end=12.1, seen=seen, awake=awake)


def test_a_command_that_was_seen_after_another_one_began_ran_at_once_with_it() -> None:
    assert killed(seen=12.0).ran_after(11.9)


def test_a_command_that_was_only_found_dead_after_another_one_began_may_have_ended_before() -> None:
    """On a busy machine it is found much later than it died."""
    assert not killed(seen=11.9).ran_after(12.0)


def test_a_command_that_never_ended_ran_after_every_other_one() -> None:
    assert Life(token="deed1", pid=1, start=10.0, seen=10.1).ran_after(99.0)


def test_the_end_that_a_command_reports_counts_whenever_it_was_seen() -> None:
    life = Life(token="deed1", pid=1, start=10.0, end=12.1, code=0, seen=11.9)

    assert life.ran_after(12.0)
    assert not life.ran_after(12.1 - TICK / 2)


def test_a_machine_that_stood_still_may_end_its_runs_as_soon_as_it_is_awake() -> None:
    assert not killed(seen=12.0, awake=11.9).ran_after(11.0)
    assert killed(seen=12.0 + WAKES, awake=11.9).ran_after(11.0)
