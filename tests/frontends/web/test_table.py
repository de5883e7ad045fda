"""The table of operations is what is served, validated, described and documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from errands.engine.agents.sessions import Sessions
from errands.engine.engine import Engine
from errands.engine.live.reports import Reports
from errands.engine.notices.inbox import Inbox
from errands.engine.queue import Queue
from errands.engine.tracing import Tracing
from errands.engine.triggers.schedules import Schedules
from errands.frontends.web.api.openapi import document, statuses
from errands.frontends.web.api.operation import Operation
from errands.frontends.web.api.operations import OPERATIONS
from errands.frontends.web.api.reference import reference
from errands.frontends.web.api.shapes import SHAPES
from errands.frontends.web.api.view_shapes import FRAMES
from errands.frontends.web.callers import Callers
from errands.frontends.web.handlers import HANDLERS
from errands.frontends.web.sign_in import Signing
from tests.frontends.web.server import Reply, WebServer

pytestmark = pytest.mark.spec("X24")

CLASSES: dict[str, Any] = {
    each.__name__: each
    for each in (Engine, Queue, Schedules, Sessions, Inbox, Tracing, Reports, Signing, Callers)
}
REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "web-api.md"
DOCUMENT = document("http://127.0.0.1:7979")


def matches(shape: str, facts: Any) -> None:
    """Check that an answer has the shape that the description promises."""
    schema = {"$ref": f"#/components/schemas/{shape}", "components": DOCUMENT["components"]}
    wrong = [
        f"{'/'.join(map(str, each.instance_path))}: {each.message}"
        for each in jsonschema_rs.validator_for(schema).iter_errors(facts)
    ]
    assert wrong == []


def test_every_operation_has_a_handler_and_every_handler_an_operation() -> None:
    served_elsewhere = {"hosts", "openapi", "stream"}  # by the application itself
    assert {each.name for each in OPERATIONS} - served_elsewhere == set(HANDLERS)
    assert len({each.name for each in OPERATIONS}) == len(OPERATIONS)
    assert len({(each.method, each.path) for each in OPERATIONS}) == len(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_an_operation_names_a_verb_that_exists(operation: Operation) -> None:
    owner, _, verb = operation.verb.partition(".")
    if verb:
        assert hasattr(CLASSES[owner], verb), operation.verb
    else:
        assert operation.verb.startswith("errands "), operation.verb


def test_every_shape_is_used_and_every_used_shape_exists() -> None:
    used = set(re.findall(r"schemas/(\w+)", json.dumps(DOCUMENT)))
    assert used - set(SHAPES) == set()
    assert set(SHAPES) - used == set()


def test_the_description_is_valid() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        jsonschema_rs.meta.validate(schema)
        assert name
    for operation in OPERATIONS:
        found = DOCUMENT["paths"][operation.path][operation.method.lower()]
        assert found["operationId"] == operation.name
        assert set(found["responses"]) == {str(operation.status), *map(str, statuses(operation))}
        placed = {each["name"] for each in found["parameters"] if each["in"] == "path"}
        assert placed == set(re.findall(r"\{(\w+)\}", operation.path))


def test_every_operation_and_shape_is_documented() -> None:
    text = REFERENCE.read_text()
    assert text == reference(), "run `make docs`"
    for operation in OPERATIONS:
        assert f"`{operation.method} {operation.path}`" in text, operation.name
    for name in (*SHAPES, *FRAMES):
        assert f"`{name}`" in text, name


def test_the_server_serves_its_own_description(web: WebServer) -> None:
    served = web.get("/openapi.json", key="").json
    assert served["paths"] == json.loads(json.dumps(DOCUMENT["paths"]))
    assert served["servers"] == [{"url": web.url}]


def test_every_operation_is_served_with_its_methods_and_no_others(web: WebServer) -> None:
    allowed: dict[str, set[str]] = {}
    for operation in OPERATIONS:
        allowed.setdefault(operation.path, set()).add(operation.method)
    for path, methods in allowed.items():
        reply = web.ask("PUT", re.sub(r"\{\w+\}", "1", path), body={})
        assert reply.status == 405, path
        assert methods <= set(reply.headers["allow"].split(", ")), path


REFUSED: tuple[tuple[str, str, Any, str], ...] = (
    ("GET", "/api/tasks?limit=0", None, "limit must be between 1 and 500 (got 0)"),
    ("GET", "/api/tasks?limit=x", None, "limit must be a whole number (got 'x')"),
    ("GET", "/api/tasks?limt=5", None, "unknown parameter 'limt' (did you mean limit?)"),
    ("GET", "/api/tasks?limit=5&limit=6", None, "limit is given twice; give it once"),
    ("GET", "/api/tasks?state=runing", None, "unknown state 'runing' (did you mean running?)"),
    ("GET", "/api/tasks?since=yesterday", None, "since must be a time such as"),
    ("GET", "/api/tasks?commands=1", None, "commands must be true or false (got '1')"),
    ("GET", "/api/timeline?group=x", None, "group must be one of: lane, name, batch (got 'x')"),
    ("POST", "/api/tasks", [], "the body must be an object (got [])"),
    ("POST", "/api/tasks", {}, "there is nothing to run; send a command or a prompt"),
    ("POST", "/api/tasks", {"comand": "true"}, "the body has no 'comand' (did you mean command?)"),
    ("POST", "/api/tasks", {"command": 5}, "command must be text (got 5)"),
    ("POST", "/api/tasks", {"command": "true", "timeout": "soon"}, "timeout"),
    ("POST", "/api/tasks", {"command": "true", "retries": -1}, "retries"),
    ("POST", "/api/tasks", b"{", "the body cannot be read as JSON"),
    ("POST", "/api/tasks", b'{"command": "a", "command": "b"}', "a name is given twice"),
    ("POST", "/api/batch", {"verb": "cancel", "expected": 1}, "give either ids or query"),
    ("POST", "/api/batch", {"verb": "explode", "ids": ["x"], "expected": 1}, "verb must be one of"),
)


@pytest.mark.parametrize(("method", "path", "body", "said"), REFUSED, ids=lambda each: str(each)[:40])
def test_what_the_table_does_not_allow_is_refused_with_a_sentence(
    web: WebServer, method: str, path: str, body: Any, said: str
) -> None:
    reply = web.ask(method, path, body=body)
    assert reply.status == 400, reply.body
    assert reply.json["kind"] == "BadValue"
    assert said in reply.detail
    matches("Problem", reply.json)


def errors_of(web: WebServer) -> dict[str, Reply]:
    """Cause an error of each kind."""
    ended = web.run("true")
    return {
        "NotFound": web.get("/api/tasks/nothing-222222"),
        "IllegalMove": web.post(f"/api/tasks/{ended}/stop"),
        "BadValue": web.post(f"/api/tasks/{ended}/resume", {"prompt": "go on"}),
    }


def test_an_error_of_the_engine_is_its_own_sentence_and_class(web: WebServer) -> None:
    found = errors_of(web)
    assert {kind: reply.json["kind"] for kind, reply in found.items()} == {kind: kind for kind in found}
    assert {kind: reply.status for kind, reply in found.items()} == {
        "NotFound": 404,
        "IllegalMove": 409,
        "BadValue": 400,
    }
    assert found["NotFound"].detail == "unknown task 'nothing-222222'; errands ls --all lists every task"
    for reply in found.values():
        matches("Problem", reply.json)
