"""The official conformance suite of the Model Context Protocol, against a server built on our own layer.

Each scenario is a test by its own name. What does not apply to us is in a table, with the reason; there is
no scenario that is in neither.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.real.programs import program

OLDER_ERA, NEWER_ERA = "2025-11-25", "2026-07-28"
PLACE = Path(__file__).parents[2]
WITHIN = 100.0  # seconds

TASKS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-status-notifications",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
)
SKIPPED = "tasks-status-notifications"  # by the suite itself
# Those of the older protocol alone.
OLDER = (
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "tools-call-elicitation",
    "resources-subscribe",
    "resources-unsubscribe",
)
BOTH = (
    "completion-complete",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "json-schema-2020-12",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)
NEW = (
    "server-stateless",
    "sep-2164-resource-not-found",
    "caching",
    "http-header-validation",
    "http-custom-header-server-validation",
    "input-required-result-request-state",
    "input-required-result-multi-round",
    "input-required-result-missing-input-response",
    "input-required-result-result-type",
    "input-required-result-unsupported-methods",
    "input-required-result-tampered-state",
    "input-required-result-validate-input",
)

_TEXT = "our tools answer with text and plain values, never with images, sound or files"
_OWN = (
    "it reads something by a name of the suite's own; our resources are tasks, and our prompts are about them"
)
_FORM = "it wants a form of its own; we ask a person one thing only, whether to approve"
_GONE = "sampling, roots and logging are deprecated, and we ask no client for them"
_SKILLS = "an extension that we do not offer"
NOT_APPLICABLE = {
    "logging-set-level": _GONE,
    "tools-call-with-logging": _GONE,
    "tools-call-sampling": _GONE,
    "input-required-result-basic-sampling": _GONE,
    "input-required-result-basic-list-roots": _GONE,
    "input-required-result-multiple-input-requests": _GONE,
    "input-required-result-capability-check": _GONE,
    "tools-call-image": _TEXT,
    "tools-call-audio": _TEXT,
    "tools-call-embedded-resource": _TEXT,
    "tools-call-mixed-content": _TEXT,
    "elicitation-sep1034-defaults": _FORM,
    "elicitation-sep1330-enums": _FORM,
    "input-required-result-basic-elicitation": _FORM,
    "input-required-result-ignore-extra-params": _FORM,
    "input-required-result-non-tool-request": _FORM,
    "resources-read-text": _OWN,
    "resources-read-binary": _OWN,
    "resources-templates-read": _OWN,
    "prompts-get-simple": _OWN,
    "prompts-get-with-args": _OWN,
    "prompts-get-embedded-resource": _OWN,
    "prompts-get-with-image": _OWN,
    "server-sse-polling": "a broken stream is not replayed: the task goes on, and is asked for by its id",
    "sep-2640-skills-directory": _SKILLS,
    "sep-2640-skills-enumeration": _SKILLS,
    "sep-2640-skills-manifest": _SKILLS,
}

Checks = dict[str, list[dict[str, Any]]]


def suite(*words: str) -> list[str]:
    return [program("node"), str(Path(program("conformance")).resolve()), *words]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("suite")
    environ = {**os.environ, "ERRANDS_HOME": str(folder / "home"), "PYTHONPATH": str(PLACE)}
    environ["XDG_CONFIG_HOME"] = str(folder / "config")
    (folder / "suite").mkdir()
    words = [sys.executable, "-m", "tests.real.conformance"]
    with subprocess.Popen(words, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
            stop = [sys.executable, "-m", "errands", "daemon", "stop"]
            subprocess.run(stop, env=environ, check=False, capture_output=True)


@pytest.fixture(scope="module")
def found(url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Checks]:
    """Run everything, side by side because most of it waits: both eras as a whole, and the tasks in turns."""
    folder = tmp_path_factory.mktemp("found")

    def run(kind: str, *words: str) -> None:
        asking = suite("server", "--url", url, "-o", str(folder / kind), *words)
        subprocess.run(asking, stdout=subprocess.DEVNULL, cwd=folder, check=False, timeout=WITHIN)

    with ThreadPoolExecutor(5) as pool:
        runs = [
            pool.submit(run, era, "--suite", "all", "--spec-version", era) for era in (OLDER_ERA, NEWER_ERA)
        ]
        runs += [pool.submit(run, "tasks", "--scenario", name) for name in TASKS]
        for each in runs:
            each.result()
    return {kind: read(folder / kind) for kind in ("tasks", OLDER_ERA, NEWER_ERA)}


def read(folder: Path) -> Checks:
    """Read what was found, by scenario; the suite writes a folder for each, with the time in its name."""
    return {
        re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT.*", r"\1", place.parent.name): json.loads(place.read_text())
        for place in folder.glob("*/checks.json")
    }


def check(checks: Sequence[dict[str, Any]]) -> None:
    wrong = [f"{each['name']}: {each.get('errorMessage')}" for each in checks if each["status"] == "FAILURE"]
    assert wrong == []
    doubtful = [
        f"{each['name']}: {each.get('errorMessage')}" for each in checks if each["status"] == "WARNING"
    ]
    assert doubtful == []
    assert "SUCCESS" in [each["status"] for each in checks]


@pytest.mark.spec("X5")
@pytest.mark.timeout(150)
@pytest.mark.parametrize("scenario", TASKS)
def test_a_scenario_of_the_tasks_passes(scenario: str, found: dict[str, Checks]) -> None:
    if scenario == SKIPPED:
        assert [each["status"] for each in found["tasks"][scenario]] == ["SKIPPED"]
    else:
        check(found["tasks"][scenario])


@pytest.mark.spec("X5")
@pytest.mark.timeout(150)
@pytest.mark.parametrize("scenario", [*OLDER, *BOTH])
def test_a_scenario_of_the_older_protocol_passes(scenario: str, found: dict[str, Checks]) -> None:
    check(found[OLDER_ERA][scenario])


@pytest.mark.spec("X5")
@pytest.mark.fault("F52")
@pytest.mark.timeout(150)
@pytest.mark.parametrize("scenario", [*BOTH, *NEW])
def test_a_scenario_of_the_newer_protocol_passes(scenario: str, found: dict[str, Checks]) -> None:
    check(found[NEWER_ERA][scenario])


def test_every_scenario_passes_or_does_not_apply() -> None:
    listed = subprocess.run(suite("list", "--server"), capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  - (\S+) ", listed, re.MULTILINE)

    assert sorted(names) == sorted((*TASKS, *OLDER, *BOTH, *NEW, *NOT_APPLICABLE))


def test_the_document_says_what_does_not_apply() -> None:
    text = (PLACE / "docs" / "mcp.md").read_text()

    assert [name for name in NOT_APPLICABLE if f"`{name}`" not in text] == []
