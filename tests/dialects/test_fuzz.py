"""Whatever a caller sends, the answer is a reply, in text that can be sent, and nothing is harmed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from errands import dialects
from errands.ports.dialect import Caller
from errands.testing.engines import TestEngine, embedded

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALLER = Caller(session="fuzz", cwd="/", door="mcp", client="fuzz")
TOOLS = [
    (dialect, tool.name, tuple(tool.parameters["properties"]))
    for dialect in dialects.BUILT_IN
    for tool in dialects.named(dialect).tools(CALLER)
]
# What would start an agent for every example; the rest is judged, and only proposed.
SLOW = {"prompt", "message"}
TEXTS = st.text(st.characters(), max_size=40) | st.sampled_from(
    ["", "*", "../x", "x-222222", "\x00", "\ud800", "running", "completed", "oneshot", "x" * 5000]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TestEngine]:
    folder = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        async with embedded(str(folder / "home"), yes=False) as engine:
            yield engine


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    dialect, tool, names = draw(st.sampled_from(TOOLS))
    known = [name for name in names if name not in SLOW]
    given_ = {
        name: draw(ANYTHING) for name in draw(st.lists(st.sampled_from([*known, "other"]), unique=True))
    }
    return dialect, tool, given_


@pytest.mark.fault("F50")
@settings(max_examples=300)
@given(calls())
async def test_every_call_has_a_reply(engine: TestEngine, call: tuple[str, str, dict[str, Any]]) -> None:
    dialect, tool, arguments = call
    # No time is spent on waiting: whatever may be waited for at all is told to be short.
    for name in ("timeout", "wait"):
        if isinstance(arguments.get(name), int | float) and arguments[name] > 0:
            arguments[name] = 0
    reply = await dialects.named(dialect).call(engine, CALLER, tool, arguments)
    reply.text.encode()
    json.dumps(None if reply.content is None else dict(reply.content), ensure_ascii=False).encode()
    assert len(reply.text) < 40_000
