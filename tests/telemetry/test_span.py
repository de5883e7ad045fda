"""Spans are derived from what is recorded anyway: runs, events, and the launcher's environment."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from errands.model.record import evolve
from errands.model.run import Event
from errands.model.span import Place, Span, caller, calling, executing, spans_of
from errands.model.text.ids import span_id
from errands.model.view import AgentView, RunView, View

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
CALLER = Place(trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331")


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def run(number: int = 1, **facts: Any) -> RunView:
    usual: dict[str, Any] = {
        "id": f"pytest-7k2m4x.{number}", "number": number, "cause": "submit", "state": "completed",
        "attempt": 1, "created_at": NOON, "started_at": after(1), "completed_at": after(5), "pid": 4711,
        "exit_code": 0,
    }  # fmt: skip
    return RunView(**{**usual, **facts})


def view(*runs: RunView, **facts: Any) -> View:
    usual: dict[str, Any] = {
        "id": "pytest-7k2m4x", "kind": "shell", "state": "completed", "task_state": "done", "name": "pytest",
        "description": "the tests", "command": "pytest -q", "cwd": "/", "lane": "shell", "priority": "normal",
        "batch": None, "key": None, "template": None, "owner": "user", "notify": "always", "parent": None,
        "created_at": NOON, "created_by": "ada", "updated_at": NOON, "runs": len(runs), "due_at": None,
        "waits": 0, "approved_by": "ada", "approved_at": NOON, "latest": runs[-1], "history": runs,
    }  # fmt: skip
    return View(**{**usual, **facts})


def event(name: str, seconds: float, /, **told: Any) -> Event:
    return Event(seq=1, task_id="pytest-7k2m4x", run=1, name=name, at=after(seconds), detail=json.dumps(told))


def names(spans: list[Span]) -> list[str]:
    return [span.name for span in spans]


@pytest.mark.spec("X10", "A7")
def test_a_run_is_a_start_and_an_execution_below_it_linked_to_it() -> None:
    start, execute = spans_of(view(run()), [], None)

    assert (start.name, execute.name) == ("background_task_start", "background_task_execute")
    assert (start.started_at, start.ended_at) == (NOON, after(1))
    assert (execute.started_at, execute.ended_at) == (after(1), after(5))
    assert start.parent_id is None
    assert execute.parent_id == start.place.span_id
    assert execute.links == (start.place,)
    assert {
        "task.id": "pytest-7k2m4x", "task.command": "pytest -q", "task.status": "completed", "task.pid": 4711,
        "task.exit_code": 0, "task.approved_by": "ada", "task.approved_at": "2026-11-15T12:00:00Z",
    }.items() <= execute.attributes.items()  # fmt: skip
    assert execute.error is None


@pytest.mark.spec("X10")
def test_the_first_run_stands_below_the_launcher_of_the_task() -> None:
    start, execute = spans_of(view(run()), [], CALLER)

    assert start.parent_id == CALLER.span_id
    assert {start.place.trace_id, execute.place.trace_id} == {CALLER.trace_id}


@pytest.mark.spec("X10")
def test_a_later_run_is_a_trace_of_its_own_linked_to_the_one_before() -> None:
    first, _, second, _ = spans_of(view(run(), run(2, cause="resume", created_at=after(60))), [], CALLER)

    assert second.place.trace_id != first.place.trace_id
    assert second.parent_id is None
    assert second.links == (executing(run(), CALLER),)
    assert spans_of(view(run(), run(2, created_at=after(60))), [], CALLER, only=2)[0].place == second.place


def test_what_goes_on_has_no_end_and_what_waits_has_no_execution() -> None:
    running = spans_of(view(run(state="running", completed_at=None, exit_code=None)), [], None)
    pending = spans_of(view(run(state="pending", started_at=None, completed_at=None)), [], None)

    assert [span.ended_at for span in running] == [after(1), None]
    assert [span.ended_at for span in pending] == [None]


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"state": "failed", "exit_code": 3, "error": "exit code 3"}, "exit code 3"),
        ({"state": "failed", "failure": "lost"}, "lost"),
        ({"state": "cancelled"}, "cancelled"),
    ],
)
def test_a_failure_is_reported(facts: dict[str, Any], error: str) -> None:
    assert spans_of(view(run(**facts)), [], None)[1].error == error


@pytest.mark.spec("X10")
def test_an_agent_has_its_requests_and_its_tools_beneath() -> None:
    agent = AgentView(name="builtin", model="llama")
    events = [
        event("queued", 0),
        event("usage", 2, requests=1, input_tokens=10, output_tokens=5),
        event("tool", 2.5, call="c1", name="shell"),
        event("tool_end", 3, call="c1", name="shell", failed=True),
        event("usage", 3, output_tokens=7),  # reported afterwards: not a request of its own
        event("tool", 4, call="c2", name="read"),
    ]
    spans = spans_of(view(run(), kind="agent", agent=agent), events, None)
    _, execute, invoked, chat, shell, read = spans

    assert names([invoked, chat, shell, read]) == [
        "invoke_agent builtin", "chat llama", "execute_tool shell", "execute_tool read",
    ]  # fmt: skip
    assert invoked.parent_id == execute.place.span_id
    assert {each.parent_id for each in (chat, shell, read)} == {invoked.place.span_id}
    assert (chat.started_at, chat.ended_at) == (after(1), after(2))
    assert chat.attributes["gen_ai.usage.input_tokens"] == 10
    assert (shell.started_at, shell.ended_at, shell.error) == (after(2.5), after(3), "the call failed")
    assert shell.attributes["gen_ai.tool.call.id"] == "c1"
    assert read.error is not None, "its end was never seen, although the run is over"
    assert shell.place == calling(execute.place, "c1"), "what the tool starts must find it"


def test_events_that_say_nothing_sensible_do_no_harm() -> None:
    broken = [evolve(event("tool", 2), detail="no JSON"), evolve(event("usage", 3), detail="[1]")]
    spans = spans_of(view(run(), kind="agent", agent=AgentView(name="acp")), broken, None)

    assert names(spans)[2:] == ["invoke_agent acp", "execute_tool "]


def test_ids_are_the_same_whenever_they_are_asked_for_and_no_others() -> None:
    ids = {span_id(f"pytest-7k2m4x.{n}", NOON) for n in range(1000)}

    assert len(ids) == 1000
    assert span_id("pytest-7k2m4x.1", NOON) == executing(run(), None).span_id in ids
    assert span_id("pytest-7k2m4x.1", after(1)) not in ids, "the same id in another home is another run"


def test_a_traceparent_is_read_and_written() -> None:
    assert caller({"TRACEPARENT": CALLER.traceparent}) == CALLER
    assert caller({"TRACEPARENT": f"00-{CALLER.trace_id}-{CALLER.span_id}-03"}) == CALLER


@pytest.mark.parametrize(
    "nonsense",
    [
        "",
        "00",
        f"ff-{CALLER.trace_id}-{CALLER.span_id}-01",
        f"00-{'0' * 32}-{CALLER.span_id}-01",
        f"00-{CALLER.trace_id}-{'0' * 16}-01",
        f"00-{CALLER.trace_id.upper()}-{CALLER.span_id}-01",
        f"00-{CALLER.trace_id}-{CALLER.span_id[:-1]}-01",
    ],
)
def test_nonsense_is_not_a_traceparent(nonsense: str) -> None:
    assert caller({"TRACEPARENT": nonsense}) is None
