"""A conversation with our server: the SDK's own client, in either era, over a pipe or a socket."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp_types import CallToolResult, ElicitResult, Implementation, Request, RequestParams, Result
from pydantic import ConfigDict, Field

from errands import bootstrap
from errands.dialects import named
from errands.frontends.mcp.client import TASKS
from errands.frontends.mcp.frontend import Frontend
from errands.frontends.mcp.server import make_server
from errands.testing.engines import TestEngine
from tests.scenarios.mcp_ways import piped

OLDER, NEWER = "legacy", "2026-07-28"
ERAS = (OLDER, NEWER)
SESSION = "a session"


class CreatedTask(Result):
    model_config = ConfigDict(extra="allow", populate_by_name=True)
    result_type: Literal["task"] = Field(alias="resultType")
    task_id: str = Field(alias="taskId")


class TaskRequestParams(RequestParams):
    model_config = ConfigDict(extra="allow")


class TaskRequest(Request[TaskRequestParams, str]):
    method: str
    params: TaskRequestParams


class Anything(Result):
    model_config = ConfigDict(extra="allow")


class Handed(Exception):  # noqa: N818  # it says what happened
    """A call was answered with a task that has this id."""


class TasksClient(ClientExtension):
    """Declares the extension; a call that becomes a task is returned instead of awaited."""

    identifier = TASKS

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=self._hand_over)]

    async def _hand_over(self, result: CreatedTask, _: ClaimContext) -> CallToolResult:
        raise Handed(result.task_id)


class Person:
    """The person at the client: reads each form for some seconds, answers it in turn, and keeps its text.

    An answer is what the client sends, or words of the choice that the person makes.
    """

    def __init__(self, *answers: ElicitResult | str, reads: float = 0.0) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.schemas: list[dict[str, Any]] = []
        self._reads = reads

    async def __call__(self, _: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        self.schemas.append(dict(params.requested_schema))
        answer = self.answers.pop(0)
        if answer != YES:
            await asyncio.sleep(self._reads)
        if isinstance(answer, ElicitResult):
            return answer
        return saying(next(each for each in choices(params.requested_schema) if answer in each))


def saying(choice: str) -> ElicitResult:
    return ElicitResult(action="accept", content={"answer": choice})


def choices(form: Mapping[str, Any]) -> list[str]:
    """Return what a form lets its person choose from; it has no other field."""
    assert form["required"] == [*form["properties"]] == ["answer"]
    found: list[str] = form["properties"]["answer"]["enum"]
    return found


YES = "approve"
YES_ONCE = "approve once"
YES_FOR_THE_TASK = "for this task"
YES_ALWAYS = "always"
REJECTED = "reject"
NOT_CHOSEN = ElicitResult(action="accept", content={})
BESIDE_THE_POINT = ElicitResult(action="accept", content={"name": "Alice"})
NO = ElicitResult(action="decline")
DISMISSED = ElicitResult(action="cancel")


@asynccontextmanager
async def connected(
    engine: TestEngine,
    era: str = NEWER,
    *,
    person: Person | None = None,
    tasks: bool = False,
    session: str | None = SESSION,
    name: str = "a-client",
    everything: bool = False,
    cwd: str | None = None,
    hears: Callable[[Any], Any] | None = None,
    config: bool = True,
    dialect: str = "native",
    wake: str = "none",
) -> AsyncIterator[Client]:
    """Connect a client to a server of its own, on the engine of the test."""
    frontend = Frontend(
        named(dialect),
        open_engine=lambda: bootstrap.open_engine(
            engine.engine.home, engine.engine.config if config else None
        ),
        everything=everything,
        environ={"ERRANDS_SESSION": session or "", "ERRANDS_WAKE": wake, "USER": "ada"},
        cwd=cwd or os.getcwd(),
    )
    options: dict[str, Any] = {"elicitation_callback": person} if person is not None else {}
    if hears is not None:
        options["message_handler"] = hears
    async with (
        piped(make_server(frontend)) as transport,
        Client(
            transport,
            mode=era,
            client_info=Implementation(name=name, version="1"),
            extensions=[TasksClient()] if tasks else [],
            cache=None,
            **options,
        ) as client,
    ):
        yield client


async def call(client: Client, tool: str, /, **arguments: Any) -> CallToolResult:
    return await client.call_tool(tool, arguments)


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert block.type == "text"
    return block.text


async def handed(client: Client, tool: str, /, **arguments: Any) -> str:
    """Call a slow tool; return the id of the task that it becomes."""
    try:
        result = await client.call_tool(tool, arguments)
    except Handed as task:
        return str(task)
    raise AssertionError(f"it was answered at once: {text(result)}")


async def ask(client: Client, method: str, **params: Any) -> dict[str, Any]:
    """Send a request of the extension."""
    request = TaskRequest(method=method, params=TaskRequestParams(**params))
    found = await client.session.send_request(request, Anything)
    return found.model_dump(by_alias=True)


async def ended(client: Client, task_id: str) -> dict[str, Any]:
    """Poll a task until it has ended or needs input."""
    async with asyncio.timeout(60):
        while (found := await ask(client, "tasks/get", taskId=task_id))["status"] == "working":
            await asyncio.sleep(0.05)
    return found
