"""A form that is open while the answer comes from elsewhere: from a phone, say, or another terminal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from errands.testing.engines import WITHIN, TestEngine
from tests.frontends.mcp.conversation import OLDER, Person, call, connected, text

pytestmark = pytest.mark.spec("X5", "A8", "A10")
HARMFUL = "rm -r precious"


class Absent(Person):
    """Does not look at the form; `withdrawn` is set when the server takes it back."""

    def __init__(self) -> None:
        super().__init__()
        self.sees = asyncio.Event()
        self.withdrawn = asyncio.Event()

    async def __call__(self, _: Any, params: Any) -> Any:
        self.sees.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn.set()


@pytest.mark.parametrize("is_approved", [True, False], ids=["approved", "rejected"])
async def test_the_form_is_withdrawn_and_the_call_goes_on(
    engine: TestEngine, project: Path, is_approved: bool
) -> None:
    person = Absent()
    async with asyncio.timeout(WITHIN), connected(engine, OLDER, person=person) as client:
        calling = asyncio.create_task(call(client, "run", command=HARMFUL, wait=20_000))
        await person.sees.wait()
        (view,) = await engine.list()
        if is_approved:
            await engine.approve(view.id, by="ada")
        else:
            await engine.reject(view.id, by="ada")

        result = await calling
        await person.withdrawn.wait()

    assert (project / "precious").exists() != is_approved
    assert result.is_error != is_approved
    if is_approved:
        assert result.structured_content["state"] == "completed"
    else:
        assert "Declined by the person asked" in text(result)
