"""A client sees the tasks of its own session, from any connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.testing.engines import TestEngine
from tests.engine.walls.test_sandbox import walled
from tests.frontends.mcp.conversation import ERAS, call, connected, text

pytestmark = [pytest.mark.spec("X5"), pytest.mark.parametrize("era", ERAS)]


@pytest.mark.trap(71)
async def test_a_client_finds_what_it_launched_on_another_connection(engine: TestEngine, era: str) -> None:
    async with connected(engine, era, session=None) as client:
        launched = (await call(client, "run", command="sleep 600")).structured_content["id"]
    async with connected(engine, era, session=None) as client:
        assert launched in text(await call(client, "tasks"))


@pytest.mark.trap(5)
async def test_another_client_project_or_session_does_not_see_them(engine: TestEngine, era: str) -> None:
    async with connected(engine, era, session=None) as client:
        launched = (await call(client, "run", command="sleep 600")).structured_content["id"]
    for stranger in ({"name": "b-client"}, {"cwd": "/tmp"}, {"session": "given by an installation"}):
        async with connected(engine, era, **{"session": None, **stranger}) as client:  # type: ignore[arg-type]
            assert text(await call(client, "tasks")) == "There are no tasks."
            assert "not found" in text(await call(client, "show", id=launched))


async def test_a_server_of_all_tasks_shows_all(engine: TestEngine, era: str) -> None:
    async with connected(engine, era, session="one") as client:
        launched = (await call(client, "run", command="sleep 600")).structured_content["id"]
    async with connected(engine, era, session="two", everything=True) as client:
        assert launched in text(await call(client, "tasks"))


@walled
@pytest.mark.spec("A2")
async def test_work_in_another_project_waits_for_approval(
    engine: TestEngine, era: str, tmp_path: Path
) -> None:
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Makefile").write_text("all:\n\ttouch made\n")
    async with connected(engine, era, cwd=str(tmp_path / "mine")) as client:
        mine, other = [
            (await call(client, "run", command="make", cwd=str(tmp_path / name))).structured_content
            for name in ("mine", "other")
        ]

    assert other["state"] == "proposed"
    assert f"works in {tmp_path / 'other'}, outside of the project" in str(other)
    assert (await engine.wait(mine["id"])).state == "completed"
    assert not (tmp_path / "other" / "made").exists()
