"""Requests made from the description, and others that break it: no failure, nothing undocumented.

Commands are sent with the token of a program, so that none of them starts unless it is harmless.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from errands.frontends.web.api.openapi import document
from errands.frontends.web.api.operations import OPERATIONS
from tests.frontends.web.server import WebServer

pytestmark = pytest.mark.spec("X24")

SEED = 20261116
EXAMPLES = int(os.environ.get("EXAMPLES", "10"))  # of each operation, and as many again that break it
LEFT_OUT = {
    "stream": "it does not end; tests/frontends/web/test_stream.py reads it",
    "doctor": "it takes seconds; test_answers.py there asks it",
}


def _operation(found: Any) -> Any:
    return found.ok()


SCHEMA = schemathesis.openapi.from_dict(json.loads(json.dumps(document("http://127.0.0.1"))))
FUZZED = {
    name: found
    for found in map(_operation, SCHEMA.get_all_operations())
    if (name := found.definition.raw["operationId"]) not in LEFT_OUT
}
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
load_all_checks()


@pytest.fixture(scope="module")
def keys(web: WebServer) -> dict[str, str]:
    """The key of a program for whatever starts or ends something, that of a person for everything else."""
    token = web.errands("web", "--token").strip()
    task = web.run("--", "echo", "hello")
    assert task
    return {each.name: web.key if each.method == "GET" else token for each in OPERATIONS}


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


def tried(web: WebServer, session: requests.Session, case: Any, key: str, checks: list[Any]) -> None:
    response = case.call(base_url=web.url, session=session, headers={"Authorization": f"Bearer {key}"})
    if response.status_code == 413:  # which the check does not take for a refusal
        checks = CHECKS
    sent = {name for name, _ in parse_qsl(urlsplit(response.request.url).query, keep_blank_values=True)}
    if set(case.query or {}) - sent:  # what broke the description has no value, and was not sent at all
        checks = CHECKS
    case.validate_response(response, checks=checks)


@pytest.mark.parametrize("name", sorted(FUZZED))
@pytest.mark.parametrize(
    "mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda each: each.value
)
def test_no_request_makes_the_server_fail_or_break_its_promises(
    web: WebServer, session: requests.Session, keys: dict[str, str], name: str, mode: GenerationMode
) -> None:
    operation = FUZZED[name]
    if mode is GenerationMode.NEGATIVE and not operation.body and not list(operation.iter_parameters()):
        return  # there is nothing to break
    checks = [*CHECKS, negative_data_rejection] if mode is GenerationMode.NEGATIVE else CHECKS

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def attempt(case: Any) -> None:
        tried(web, session, case, keys[name], checks)

    attempt()


def test_what_is_left_out_exists() -> None:
    assert set(LEFT_OUT) | set(FUZZED) == {each.name for each in OPERATIONS}
