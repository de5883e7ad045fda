"""The server that the official conformance suite talks to: our own, with a dialect made for the suite.

The suite wants tools of certain names. They launch real tasks of a real engine, so that what is tested is how
our server carries them; what it reads and fills in besides is in the files next to this one.
`python -m tests.clients.conformance` serves it in a home of its own.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY

from errands import bootstrap
from errands.frontends.mcp.client import Client, Context, require_tasks
from errands.frontends.mcp.frontend import Frontend
from errands.frontends.mcp.http import make_app
from errands.frontends.mcp.server import LARGEST, make_server
from errands.frontends.tools.http_server import origins_of
from errands.ports.dialect import Caller, Reply, Tool
from errands.ports.server_socket import listening
from tests.clients.conformance_content import BESIDE, add_content
from tests.clients.conformance_forms import add_forms

if TYPE_CHECKING:
    from errands.model.view import View
    from errands.ports.dialect import EngineApi

_ANY: Mapping[str, Any] = {"type": "object", "properties": {}}
_TEXT = {"type": "string"}
_REQUIRED = ("failing_job", "protocol_error_job", "test_tool_with_task")
# Whether the client of a call supports tasks.
_has_tasks: ContextVar[bool] = ContextVar("has_tasks")

_SCHEMA_2020_12: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": _TEXT, "city": _TEXT},
        }
    },
    "properties": {
        "name": _TEXT,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": _TEXT,
        "email": _TEXT,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "greet": {"type": "object", "properties": {"name": _TEXT}},
    "slow_compute": {"type": "object", "properties": {"seconds": {"type": "number"}, "label": _TEXT}},
    "confirm_delete": {"type": "object", "properties": {"filename": _TEXT}},
    "json_schema_2020_12_tool": _SCHEMA_2020_12,
    "test_header": {"type": "object", "properties": {"region": {**_TEXT, "x-mcp-header": "Region"}}},
}
_ASKING = (
    "test_input_required_result_elicitation",
    "confirm_delete",
    "multi_input",
    "test_elicitation",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multi_round",
)
_OTHERS = (
    "greet",
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "test_tool_with_task",
    "test_simple_text",
    "test_error_handling",
    "test_tool_with_progress",
    "json_schema_2020_12_tool",
    "test_header",
    "test_missing_capability",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
)


class Suite:
    """The dialect of the suite: each method is a tool."""

    name = "suite"

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def tools(self, caller: Caller) -> tuple[Tool, ...]:
        return tuple(
            Tool(
                name=name,
                description=f"the tool {name} of the suite",
                parameters=_PARAMETERS.get(name, _ANY),
                may_need_approval=name in _ASKING,
            )
            for name in (*_OTHERS, *_ASKING, *BESIDE)
        )

    async def call(self, engine: EngineApi, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Reply:
        if name in _OTHERS or name in (
            "confirm_delete",
            "multi_input",
            "test_input_required_result_elicitation",
            "test_input_required_result_multi_round",
        ):
            reply: Reply = await getattr(self, name)(engine, caller, **arguments)
            return reply
        if name in _ASKING:
            return _told(await _delete(engine, caller, name))
        if name in BESIDE:
            return Reply(text=f"See what stands beside the reply of {name}.")
        return Reply(text=f"Unknown tool: {name}", failed=True)

    async def greet(self, engine: EngineApi, caller: Caller, name: str = "") -> Reply:
        return Reply(text=f"Hello, {name}!")

    async def slow_compute(
        self, engine: EngineApi, caller: Caller, seconds: float = 0, label: str = ""
    ) -> Reply:
        if seconds:
            await _become_a_task(engine, caller)
        view = await engine.submit(f"sleep {seconds:g}", parent=caller.session, door=caller.door)
        return _told(await engine.wait(view.id))

    async def failing_job(self, engine: EngineApi, caller: Caller) -> Reply:
        await _become_a_task(engine, caller)
        view = await engine.submit("false", parent=caller.session, door=caller.door)
        return _told(await engine.wait(view.id))

    async def protocol_error_job(self, engine: EngineApi, caller: Caller) -> Reply:
        await _become_a_task(engine, caller)
        raise RuntimeError("what nobody has thought of")

    async def test_tool_with_task(self, engine: EngineApi, caller: Caller, name: str = "") -> Reply:
        await _become_a_task(engine, caller)
        view = await engine.submit("true", description=f"for {name}", parent=caller.session)
        return _told(await engine.wait(view.id))

    async def confirm_delete(self, engine: EngineApi, caller: Caller, filename: str = "") -> Reply:
        await _become_a_task(engine, caller)
        view = await _delete(engine, caller, filename)
        return _told(view if view.state == "proposed" else await engine.wait(view.id))

    async def multi_input(self, engine: EngineApi, caller: Caller) -> Reply:
        await _become_a_task(engine, caller)
        return _told(await _delete(engine, caller, "one"), await _delete(engine, caller, "two"))

    async def test_input_required_result_multi_round(self, engine: EngineApi, caller: Caller) -> Reply:
        """Ask about a second task when the first was asked about."""
        first = await _delete(engine, caller, "first")
        if first.id not in self._seen:
            self._seen.add(first.id)
            return _told(first)
        return _told(first, await _delete(engine, caller, "second"))

    async def test_simple_text(self, engine: EngineApi, caller: Caller) -> Reply:
        return Reply(text="This is a simple text response for testing.")

    async def test_error_handling(self, engine: EngineApi, caller: Caller) -> Reply:
        return Reply(text="This tool intentionally returns an error for testing", failed=True)

    async def test_tool_with_progress(self, engine: EngineApi, caller: Caller) -> Reply:
        steps = "; ".join(f"echo '::progress {done}%'; sleep 2" for done in (10, 50, 100))
        view = await engine.submit(steps, parent=caller.session, door=caller.door)
        return _told(await engine.wait(view.id))

    async def json_schema_2020_12_tool(self, engine: EngineApi, caller: Caller, **given: Any) -> Reply:
        return Reply(text=f"{len(given)} arguments")

    async def test_header(self, engine: EngineApi, caller: Caller, region: str = "") -> Reply:
        return Reply(text=region)

    async def test_missing_capability(self, engine: EngineApi, caller: Caller) -> Reply:
        return Reply(text="the client can sample")

    async def test_input_required_result_elicitation(
        self, engine: EngineApi, caller: Caller, name: str = ""
    ) -> Reply:
        if not name:
            return _told(await _delete(engine, caller, "unnamed"))
        return await self.greet(engine, caller, name)

    async def test_elicitation_sep1034_defaults(
        self, engine: EngineApi, caller: Caller, **given: Any
    ) -> Reply:
        return Reply(text=f"filled in: {given}")

    async def test_elicitation_sep1330_enums(self, engine: EngineApi, caller: Caller, **given: Any) -> Reply:
        return Reply(text=f"chosen: {given}")


async def _become_a_task(engine: EngineApi, caller: Caller) -> None:
    """Wait for a task of ours until the call has become one of the protocol, if its client supports those.

    A task of a fixed length may end first on a busy machine, and then the call is answered at once.
    """
    if not _has_tasks.get(False):
        return
    view = await engine.submit("sleep 1000", parent=caller.session, door=caller.door)
    call, _, _ = (view.key or "").rpartition(".")
    stored = Path(os.environ["ERRANDS_HOME"], "mcp", "calls", call)
    async with asyncio.TaskGroup() as group:
        group.create_task(engine.wait(view.id))
        while not stored.is_file():
            await asyncio.sleep(0.05)
        await engine.cancel(view.id)


async def _delete(engine: EngineApi, caller: Caller, name: str) -> View:
    return await engine.submit(f"rm -rf suite/{name}", parent=caller.session, door=caller.door)


def _told(*views: View) -> Reply:
    return Reply(
        text="; ".join(f"{view.id} {view.state} {view.description}" for view in views),
        failed=any(view.state == "failed" for view in views),
        tasks=tuple(view.id for view in views),
        proposed=tuple(view.id for view in views if view.state == "proposed"),
    )


async def demanding(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Make some tools refuse clients without tasks, and one those without sampling."""
    name, said = (ctx.params or {}).get("name"), ctx.session.client_capabilities
    if name == "test_missing_capability" and (said is None or said.sampling is None):
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this needs a client that samples", needed)
    if ctx.method == "tools/call" and name in _REQUIRED:
        require_tasks(ctx)
    _has_tasks.set(Client(ctx).has_tasks)
    return await call_next(ctx)


def main() -> None:
    frontend = Frontend(Suite(), open_engine=bootstrap.open_client)
    server = make_server(frontend)
    add_content(server)
    add_forms(server)
    server.middleware.append(demanding)
    place = listening("127.0.0.1", 0)
    port = place.getsockname()[1]
    # The suite cannot send a token.
    app = make_app(server, origins_of("127.0.0.1", port), None, LARGEST)
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    asyncio.run(uvicorn.Server(config).serve(sockets=[place]))


if __name__ == "__main__":
    os.makedirs("suite", exist_ok=True)
    main()
