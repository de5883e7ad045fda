"""Facts that have to stand in two places agree."""

from __future__ import annotations

import ast
import re
import sqlite3
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from errands import agents, channels, dialects, sources
from errands.config.channels import KINDS as CHANNEL_KINDS
from errands.config.channels import READY
from errands.config.sections import Runs
from errands.engine.daemon.launch import _tree_limits
from errands.engine.fleet.placed_run import _limits as _placed_limits
from errands.frontends.mcp import tasks as mcp_tasks
from errands.model.limits import Limits
from errands.model.notices.notice import CONDITIONS, POLICIES, REPORTS
from errands.model.options.table import BY_NAME
from errands.model.record import fields
from errands.model.retry import RETRIED
from errands.model.schedule.event_sources import KINDS as SOURCE_KINDS
from errands.model.states import ENDED, FAILURES, OPEN, RUN_MOVES, SIGNS, TASK_MOVES
from errands.model.text.duration import exact
from errands.model.trigger import Every, On
from errands.runners.shim.limits import LIMITS as TREE_LIMITS
from errands.stores.sqlite.migrations import MIGRATIONS
from errands.text import STATES

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "errands"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SHELVES = {"agents": agents, "channels": channels, "dialects": dialects, "sources": sources}


@pytest.mark.parametrize("shelf", SHELVES)
def test_built_in_plugins_are_registered_like_those_of_other_packages(shelf: str) -> None:
    assert PROJECT["entry-points"][f"errands.{shelf}"] == SHELVES[shelf].BUILT_IN


@pytest.mark.parametrize("shelf", [agents, channels, sources])
def test_an_extra_belongs_to_a_built_in_plugin_and_can_be_installed(shelf: object) -> None:
    extras: dict[str, str] = vars(shelf)["EXTRAS"]
    assert extras.keys() <= vars(shelf)["BUILT_IN"].keys()
    assert set(extras.values()) <= PROJECT["optional-dependencies"].keys()


def test_every_source_has_its_options_listed() -> None:
    assert list(SOURCE_KINDS) == list(sources.BUILT_IN)
    assert all(kind.example.startswith(f"{name}:") for name, kind in SOURCE_KINDS.items())


def test_every_channel_has_its_settings_listed() -> None:
    assert list(CHANNEL_KINDS) == ["inbox", *channels.BUILT_IN]
    assert {"inbox", "session", "terminal", "desktop"} <= set(READY)
    assert not {"webhook", "discord", "apprise"} & set(READY)


def test_the_help_names_the_default_of_the_code() -> None:
    on = On(source="file")
    assert BY_NAME["debounce"].default == exact(on.debounce)
    assert BY_NAME["max_wait"].default == exact(on.max_wait)
    assert BY_NAME["rate"].default == str(on.rate)
    assert BY_NAME["retries"].default == str(Limits().retries)
    assert BY_NAME["misfire"].default == Every.__defaults__["misfire"]  # type: ignore[attr-defined]


def test_the_configuration_has_the_default_limits_of_the_model() -> None:
    runs, limits = Runs(), Limits()
    names = [name for name in fields(Limits) if BY_NAME[name].setting]
    for name in names:
        assert getattr(runs, BY_NAME[name].setting.removeprefix("runs.")) == getattr(limits, name)


def _literals(tree: ast.Module) -> dict[str, set[str]]:
    """Return the values of every `NAME = Literal[...]` of a module."""
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id="Literal"))):
                assert isinstance(node.value, ast.Subscript)
                found[name] = set(ast.literal_eval(node.value.slice))
    return found


def _tuples(tree: ast.Module) -> list[tuple[str, str, set[str]]]:
    """Return name, type and values of every `NAME: tuple[TYPE, ...] = (...)` that lists plain texts."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Tuple):
            kind = ast.unparse(node.annotation)
            if kind.startswith("tuple[") and all(isinstance(each, ast.Constant) for each in node.value.elts):
                name = ast.unparse(node.target)
                found.append((name, kind[6:].partition(",")[0], set(ast.literal_eval(node.value))))
    return found


# Tuples that list only some of the values on purpose.
PARTS = {"LIVE", "STANDING", "ENDED", "RAN", "_WAITS"}


def test_a_tuple_of_all_choices_lists_every_value_of_its_type() -> None:
    """A type checker refuses a wrong value in such a tuple, but not a missing one."""
    checked = 0
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        types = _literals(tree)
        for name, kind, values in _tuples(tree):
            if kind in types and name not in PARTS:
                assert values == types[kind], f"{path.relative_to(ROOT)}: {name} and {kind} differ"
                checked += 1
    assert checked > 10


def test_every_state_has_a_sign_and_a_colour() -> None:
    assert set(SIGNS) == {*TASK_MOVES, *RUN_MOVES, *OPEN, "cancelling", "held"} == set(STATES)


def test_every_policy_says_what_it_reports_and_when() -> None:
    assert set(REPORTS) == set(POLICIES)
    assert set(CONDITIONS) == set(POLICIES) - {"always", "never"}


def test_every_retried_failure_exists() -> None:
    assert set(RETRIED) < set(FAILURES)


@pytest.mark.parametrize(("table", "moves"), [("tasks", TASK_MOVES), ("runs", RUN_MOVES)])
def test_the_store_takes_exactly_the_states_of_the_model(table: str, moves: dict[str, object]) -> None:
    database = sqlite3.connect(":memory:")
    for script in MIGRATIONS:
        database.executescript(script)
    (schema,) = database.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    database.close()
    assert set(re.findall(r"\bstate = '(\w+)'", schema)) == set(moves)


def test_every_limit_of_a_process_tree_is_passed_on_and_measured() -> None:
    limits = Limits(memory=1, cpu=timedelta(seconds=1), processes=1)
    assert set(_tree_limits(limits)) == set(TREE_LIMITS)
    tree = ast.parse((SOURCE / "model" / "ending.py").read_text())
    assert _literals(tree)["Limit"] == {"timeout", "idle", *TREE_LIMITS}


def test_another_host_applies_every_limit_except_those_that_the_home_applies() -> None:
    limits = Limits(timeout=None, memory=1 << 20, nice=5, retries=3)

    given = _placed_limits(limits)

    assert set(given) == set(fields(Limits)) - {"retries", "on_loss"}
    assert (given["timeout"], given["memory"], given["nice"]) == ("none", 1 << 20, 5)


def test_mcp_knows_every_final_state() -> None:
    """A state that it does not know would look like a task that never ends."""
    assert set(mcp_tasks._STATES) == set(ENDED)
