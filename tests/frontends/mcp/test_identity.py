"""A client sees the tasks of its own session, from any connection."""

from __future__ import annotations

import pytest

from errands.testing.engines import TestEngine
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
