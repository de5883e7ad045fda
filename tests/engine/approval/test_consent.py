"""Consent: a background run can never give it, and what was judged harmless stays harmless."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from errands.engine.actor import actor
from errands.engine.engine import Engine
from errands.engine.submit.environment import Environments
from errands.model.options.draft import Draft
from errands.testing.engines import TestEngine
from tests.engine.agent_project import Project


@pytest.mark.spec("A1")
async def test_a_harmless_command_loses_variables_that_would_make_it_load_other_code(
    project: Project, engine: TestEngine
) -> None:
    Path(project.path, "deed").write_text("#!/bin/sh\nenv\n")
    environ = {**os.environ, "LD_PRELOAD": "/nowhere/x.so", "BASH_ENV": "/nowhere/rc", "COLOUR": "blue"}
    auto = await engine.finished(Draft(command="./deed x", cwd=project.path, environ=environ))
    asked = await engine.finished(Draft(command="env; touch /dev/null", environ=environ))
    found = await engine.get(auto.id)
    names = [event for event in await engine.events(auto.id) if event.name == "variables removed"]

    assert (auto.verdict, asked.verdict) == ("auto", "ask")
    assert "COLOUR=blue" in await engine.text(auto.id)
    assert "LD_PRELOAD" not in await engine.text(auto.id)
    assert "LD_PRELOAD=/nowhere/x.so" in await engine.text(asked.id)
    removed = (found.details or {})["removed_variables"]
    assert {"LD_PRELOAD", "BASH_ENV"} <= set(removed)
    assert "COLOUR" not in removed
    assert names[0].detail.split() == removed


def test_the_cache_of_environments_is_bounded() -> None:
    environments = Environments()
    for number in range(999):
        environments.take({"A": "b"}, f"/project-{number}")

    assert len(vars(environments)["_known"]) < 99


@pytest.mark.spec("A7", "A10")
def test_a_restart_is_recorded_under_the_person_who_consented_to_it(asking: Engine) -> None:
    view = asking.submit(Draft(command=("rm", "/nowhere/x")))
    asking.approve(view.id, by="ada", door="discord")
    asking.cancel([view.id])
    trusted = asking.restart(view.id)
    asking.cancel([view.id])
    consented = asking.restart(view.id, consent="yes", door="cli")

    assert (trusted.approved_by, trusted.door) == ("ada", "discord")
    assert (consented.approved_by, consented.door) == (f"{actor()} (--yes)", "cli")
    assert [(each.by, each.run) for each in asking.approvals(view.id)] == [
        ("ada", 1),
        (consented.approved_by, 3),
    ]


@pytest.mark.spec("A12", "A8")
@pytest.mark.trap(8)
async def test_consent_is_refused_inside_a_run(engine: TestEngine, asking: Engine, tmp_path: Path) -> None:
    view = asking.submit(Draft(command=("rm", "/nowhere/x")))
    script = tmp_path / "consent.py"
    script.write_text(
        f"""
import os
from errands.engine.actor import actor
from errands.bootstrap import open_engine
from errands.model.options.draft import Draft
from errands.model.errors import NotAPerson
os.environ.pop("ERRANDS_RUN_ID", None)
engine = open_engine()
tries = {{
    "approve": lambda: engine.approve({view.id!r}, by="ada", door="terminal"),
    "reject": lambda: engine.reject({view.id!r}, by="ada", door="terminal"),
    "yes": lambda: engine.submit(Draft(command=("rm", "x"), consent="yes")),
    "typed": lambda: engine.submit(Draft(command=("rm", "x"), consent="typed")),
    "restart": lambda: engine.restart({view.id!r}, consent="yes"),
}}
for name, act in tries.items():
    try:
        act()
    except NotAPerson as error:
        print("refused", name, error.exit_code)
print(engine.submit(Draft(command=("rm", "x"))).state)
"""
    )
    here = f"{sys.executable} {script}"
    for line in (here, f"exec env -u ERRANDS_RUN_ID {here}", f"setsid -w env -u ERRANDS_RUN_ID {here}"):
        task = await engine.finished(line)
        printed = (await engine.text(task.id)).split("\n")
        assert printed[:6] == [
            *(f"refused {name} 2" for name in ("approve", "reject", "yes", "typed", "restart")),
            "proposed",
        ]
    assert (await engine.get(view.id)).state == "proposed"


@pytest.mark.spec("A6")
async def test_once_started_a_task_never_asks_again(
    engine: TestEngine, asking: Engine, tmp_path: Path
) -> None:
    script = tmp_path / "slow.sh"
    script.write_text(
        "test -t 0 && echo terminal\n"
        f"echo ready; while ! test -e {tmp_path}/go; do sleep 0.01; done; rm {tmp_path}/go; echo over\n"
    )
    view = asking.submit(Draft(command=("sh", str(script)), cwd=str(tmp_path), propose=True))
    asking.approve(view.id, by="ada", door="terminal")
    await engine.printed(view.id, "ready")
    with script.open("a") as file:
        file.write("# changed while it runs\n")
    (tmp_path / "go").touch()

    assert (await engine.wait(view.id)).state == "completed"
    assert await engine.text(view.id) == "ready\nover\n"
    assert [each.state for each in asking.approvals(view.id)] == ["granted"]
