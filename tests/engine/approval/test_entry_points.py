"""Entry points: whichever way a command comes in, the same judge looks at it first.

A new entry point is a line in `ENTRY_POINTS`: a function that submits a draft the way it does and returns the
view of its task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from errands.api import connect
from errands.bootstrap import open_engine
from errands.config import load
from errands.engine.engine import Engine
from errands.model.errors import Denied, ErrandsError
from errands.model.options.draft import Draft
from errands.model.record import evolve
from errands.model.states import OPEN
from errands.model.view import View
from errands.ports.home import Home
from errands.ports.store import Query

if TYPE_CHECKING:
    from errands.model.action import Command

EntryPoint = Callable[[Engine, Draft], View]


def submit(engine: Engine, draft: Draft) -> View:
    return engine.submit(draft)


def submit_all(engine: Engine, draft: Draft) -> View:
    return engine.submit_all([Draft(command=("true",)), draft])[1]


def submit_each(engine: Engine, draft: Draft) -> View:
    view = engine.submit_each([Draft(command=("true",)), draft])[1]
    if isinstance(view, ErrandsError):
        raise view
    return view


def submit_template(engine: Engine, draft: Draft) -> View:
    engine.save_template("saved", evolve(draft, environ=None))
    return engine.submit_template("saved", {}, environ=draft.environ)


def submit_parameter(engine: Engine, draft: Draft) -> View:
    """The template is harmless, its parameter is not."""
    words = (draft.command,) if isinstance(draft.command, str) else draft.command
    if isinstance(draft.command, str):
        return submit_template(engine, draft)
    engine.save_template("saved", Draft(command=("{{program=true}}", *words[1:]), cwd=draft.cwd))
    return engine.submit_template("saved", {"program": words[0]})


def as_second_step(engine: Engine, draft: Draft) -> View:
    return engine.submit(evolve(draft, command=("true",), then=(draft.command,)))


def as_hook_before(engine: Engine, draft: Draft) -> View:
    return engine.submit(evolve(draft, command=("true",), before=(draft.command,)))


def as_hook_after(engine: Engine, draft: Draft) -> View:
    return engine.submit(evolve(draft, command=("true",), lastly=(draft.command,)))


def delayed(engine: Engine, draft: Draft) -> View:
    return engine.submit(evolve(draft, after=(engine.submit(Draft(command=("true",))).id,)))


def restart(engine: Engine, draft: Draft) -> View:
    """The rules have become stricter since the first run."""
    lax = open_engine(engine.home, load(overrides={"approval.allow": "rm *; touch *"}))
    with closing(lax):
        first = lax.submit(draft)
        lax.cancel([first.id])
    return engine.restart(first.id)


def program(engine: Engine, draft: Draft) -> View:
    async def act() -> View:
        async with connect(engine.home.path, **_rules(engine)) as connected:
            view = await connected.submit(draft)
            await connected.cancel(view.id)
            return view

    return asyncio.run(act())


def program_at_once(engine: Engine, draft: Draft) -> View:
    async def act() -> View:
        async with connect(engine.home.path, **_rules(engine)) as connected:
            views = await asyncio.gather(*[connected.submit(draft) for _ in range(3)])
            await connected.cancel(*[view.id for view in views])
            return views[-1]

    return asyncio.run(act())


def _rules(engine: Engine) -> dict[str, Any]:
    return {"approval.deny": ";".join(engine.config.approval.deny)}


ENTRY_POINTS: list[EntryPoint] = [
    submit,
    submit_all,
    submit_each,
    submit_template,
    submit_parameter,
    as_second_step,
    as_hook_before,
    as_hook_after,
    delayed,
    restart,
    program,
    program_at_once,
]
every_entry_point = pytest.mark.parametrize("enter", ENTRY_POINTS, ids=lambda each: each.__name__)


@every_entry_point
@pytest.mark.spec("A1", "A11")
@pytest.mark.fault("F60")
@pytest.mark.trap(70)
@pytest.mark.parametrize("command", [("rm", "-rf", "x"), "true; rm -rf x", ("touch", "../x")], ids=str)
def test_a_harmful_command_waits_for_approval(
    home: Home, tmp_path: Path, enter: EntryPoint, command: Command
) -> None:
    with closing(open_engine(home)) as engine:
        view = enter(engine, Draft(command=command, cwd=str(tmp_path)))

        assert (view.state, view.approved_by) == ("proposed", None)
        assert engine.approvals(view.id)[0].state in ("waiting", "void")


@every_entry_point
@pytest.mark.spec("A1")
def test_a_harmless_command_needs_no_approval(home: Home, tmp_path: Path, enter: EntryPoint) -> None:
    with closing(open_engine(home)) as engine:
        view = enter(engine, Draft(command=("true",), cwd=str(tmp_path)))

        assert (view.verdict, view.approved_by) == ("auto", "judge")


@every_entry_point
@pytest.mark.spec("A9")
@pytest.mark.fault("F60")
def test_a_denied_command_is_refused_and_leaves_nothing_behind(
    home: Home, tmp_path: Path, enter: EntryPoint
) -> None:
    with closing(open_engine(home, load(overrides={"approval.deny": "rm *"}))) as engine:
        with pytest.raises(Denied, match="a rule forbids it: rm"):
            enter(engine, Draft(command=("rm", "-rf", "x"), cwd=str(tmp_path)))
        live = [view.command for view in engine.list(Query(states=OPEN))]
        assert [command for command in live if "rm" in command] == []
