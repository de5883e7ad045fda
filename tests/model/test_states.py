"""The tables of states: what they list is all there is, and what has ended stays as it is."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model import states
from errands.model.errors import IllegalMove
from errands.model.states import ENDED, LIVE, RUN_MOVES, TASK_MOVES, run_after, task_after

MOVES = sorted({move for table in (RUN_MOVES, TASK_MOVES) for moves in table.values() for move in moves})


@pytest.mark.spec("L7")
@given(st.sampled_from(list(RUN_MOVES)), st.sampled_from(MOVES) | st.text())
def test_a_run_moves_as_its_table_says_and_in_no_other_way(state: str, move: str) -> None:
    if move in RUN_MOVES[state]:
        assert run_after(state, move) == RUN_MOVES[state][move]  # type: ignore[arg-type]
    else:
        with pytest.raises(IllegalMove, match=f"a run that is {state} cannot"):
            run_after(state, move)  # type: ignore[arg-type]


@given(st.sampled_from(list(TASK_MOVES)), st.sampled_from(MOVES) | st.text())
def test_a_task_moves_as_its_table_says_and_in_no_other_way(state: str, move: str) -> None:
    if move in TASK_MOVES[state]:
        assert task_after(state, move) == TASK_MOVES[state][move]  # type: ignore[arg-type]
    else:
        with pytest.raises(IllegalMove, match=f"a task that is {state} cannot"):
            task_after(state, move)  # type: ignore[arg-type]


def test_a_refused_move_names_what_is_possible_instead() -> None:
    with pytest.raises(IllegalMove, match="it can: complete, fail, cancel"):
        run_after("running", "skip")
    with pytest.raises(IllegalMove, match="this state is final"):
        run_after("completed", "cancel")


@pytest.mark.spec("L7")
def test_every_state_is_live_or_final_and_no_final_one_can_be_left() -> None:
    assert {*LIVE, *ENDED} == set(RUN_MOVES)
    assert {state for state, moves in RUN_MOVES.items() if not moves} == set(ENDED)
    assert all(target in RUN_MOVES for moves in RUN_MOVES.values() for target in moves.values())
    assert all(target in TASK_MOVES for moves in TASK_MOVES.values() for target in moves.values())


@pytest.mark.spec("L7")
def test_every_final_state_can_be_reached_from_the_queue() -> None:
    reached: set[str] = set()
    found = {"pending"}
    while found - reached:
        reached |= found
        found = {target for state in found for target in RUN_MOVES[state].values()}
    assert reached == set(RUN_MOVES)


@pytest.mark.trap(19)
def test_whatever_has_not_ended_can_be_cancelled() -> None:
    assert all("cancel" in RUN_MOVES[state] for state in LIVE)


def test_the_tables_and_the_types_name_the_same_states() -> None:
    # The aliases exist for type checkers alone, so they are read from the source.
    scope: dict[str, object] = {}
    with open(states.__file__) as file:
        source = file.read().replace("TYPE_CHECKING = False", "TYPE_CHECKING = True")
    exec(compile(source, states.__file__, "exec", dont_inherit=True), scope)
    assert set(get_args(scope["RunState"])) == set(RUN_MOVES)
    assert set(get_args(scope["TaskState"])) == set(TASK_MOVES)
    assert get_args(scope["Failure"]) == states.FAILURES
    assert get_args(scope["Skip"]) == states.SKIPS
