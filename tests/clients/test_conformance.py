"""The official conformance suite of the Model Context Protocol, against a server built on our own layer.

Each scenario is a test of its own, and is listed with its verdict at the end of a run. Those that do not
apply to us are listed in docs/reference/mcp.md, with the reason; a scenario in neither place fails the tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conformance_forms import APPROVAL
from tests.clients.programs import program

OLDER_ERA, NEWER_ERA = "2025-11-25", "2026-07-28"
PLACE = Path(__file__).parents[2]
WITHIN = 240.0  # seconds
LONGEST = "60000"  # milliseconds for a scenario: half of it is too little for some on a busy machine

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
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "resources-subscribe",
    "resources-unsubscribe",
)
BOTH = (
    "completion-complete",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "json-schema-2020-12",
    "server-sse-multiple-streams",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
    "dns-rebinding-protection",
)
NEW = (
    "server-stateless",
    "sep-2164-resource-not-found",
    "caching",
    "http-header-validation",
    "http-custom-header-server-validation",
    "input-required-result-basic-elicitation",
    "input-required-result-request-state",
    "input-required-result-multi-round",
    "input-required-result-missing-input-response",
    "input-required-result-non-tool-request",
    "input-required-result-result-type",
    "input-required-result-unsupported-methods",
    "input-required-result-tampered-state",
    "input-required-result-ignore-extra-params",
    "input-required-result-validate-input",
)
# Those that do not mind which form they are shown, and are shown our own as well.
OWN_FORM = (
    "input-required-result-missing-input-response",
    "input-required-result-result-type",
    "input-required-result-validate-input",
)


def not_applicable() -> dict[str, str]:
    """Return which scenarios do not apply, and why, from the documentation."""
    _, _, below = (
        (PLACE / "docs" / "reference" / "mcp.md").read_text().partition("| what does not apply | why |\n")
    )
    rows = re.findall(r"^\| `([^`|]+)` \| ([^|]+) \|$", below.partition("\n\n")[0], re.MULTILINE)
    return dict(rows)


NOT_APPLICABLE = not_applicable()
EXTENSIONS = tuple(name for name in NOT_APPLICABLE if name.startswith("sep-2640-"))

Checks = dict[str, list[dict[str, Any]]]
Record = Callable[[str, object], None]


def suite(*words: str) -> list[str]:
    return [program("node"), str(Path(program("conformance")).resolve()), *words]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("suite")
    environ = {**os.environ, "ERRANDS_HOME": str(folder / "home"), "PYTHONPATH": str(PLACE)}
    environ["XDG_CONFIG_HOME"] = str(folder / "config")
    (folder / "suite").mkdir()
    words = [sys.executable, "-m", "tests.clients.conformance"]
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
    """Run everything, side by side because most of it waits: both eras as a whole, and the tasks in turns.

    The suite gives some answers half a second. A scenario that fails in this crowd is run once more, alone.
    """
    folder = tmp_path_factory.mktemp("found")

    def run(kind: str, *words: str) -> None:
        where = f"{url}?{APPROVAL}" if kind == APPROVAL else url
        asking = suite("server", "--url", where, "--timeout", LONGEST, "-o", str(folder / kind), *words)
        subprocess.run(asking, stdout=subprocess.DEVNULL, cwd=folder, check=False, timeout=WITHIN)

    with ThreadPoolExecutor(5) as pool:
        runs = [
            pool.submit(run, era, "--suite", "all", "--spec-version", era) for era in (OLDER_ERA, NEWER_ERA)
        ]
        runs += [pool.submit(run, "tasks", "--scenario", name) for name in TASKS]
        runs += [pool.submit(run, "extensions", "--scenario", name) for name in EXTENSIONS]
        runs += [pool.submit(run, APPROVAL, "--scenario", name) for name in OWN_FORM]
        for each in runs:
            each.result()
    kinds = ("tasks", "extensions", APPROVAL, OLDER_ERA, NEWER_ERA)
    found = {kind: read(folder / kind) for kind in kinds}
    for era in (OLDER_ERA, NEWER_ERA):
        for name in [each for each in (*OLDER, *BOTH, *NEW) if problems(found[era].get(each, ()))]:
            run(f"{era}-alone", "--spec-version", era, "--scenario", name)
        found[era] |= read(folder / f"{era}-alone")
    return found


def read(folder: Path) -> Checks:
    """Return the findings by scenario; the suite writes a folder for each, with the time in its name."""
    return {
        re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT.*", r"\1", place.parent.name): json.loads(place.read_text())
        for place in folder.glob("*/checks.json")
    }


def problems(checks: Sequence[dict[str, Any]]) -> list[str]:
    """List the failures and the warnings of a scenario."""
    bad = [each for each in checks if each["status"] in ("FAILURE", "WARNING")]
    return [f"{each['status']} {each['name']}: {each.get('errorMessage')}" for each in bad]


def check(checks: Sequence[dict[str, Any]]) -> None:
    assert problems(checks) == []
    assert "SUCCESS" in [each["status"] for each in checks]


@pytest.mark.spec("X5")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", TASKS)
def test_a_scenario_of_the_tasks_passes(
    scenario: str, found: dict[str, Checks], record_property: Record
) -> None:
    record_property("scenario", f"tasks       {scenario}")
    if scenario == SKIPPED:
        record_property("verdict", "skipped by the suite itself")
        assert [each["status"] for each in found["tasks"][scenario]] == ["SKIPPED"]
    else:
        check(found["tasks"][scenario])


@pytest.mark.spec("X5")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", [*OLDER, *BOTH])
def test_a_scenario_of_the_older_protocol_passes(
    scenario: str, found: dict[str, Checks], record_property: Record
) -> None:
    record_property("scenario", f"{OLDER_ERA}  {scenario}")
    check(found[OLDER_ERA][scenario])


@pytest.mark.spec("X5")
@pytest.mark.fault("F52")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", [*BOTH, *NEW])
def test_a_scenario_of_the_newer_protocol_passes(
    scenario: str, found: dict[str, Checks], record_property: Record
) -> None:
    record_property("scenario", f"{NEWER_ERA}  {scenario}")
    check(found[NEWER_ERA][scenario])


@pytest.mark.spec("X5")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", OWN_FORM)
def test_a_scenario_about_forms_passes_with_our_own(scenario: str, found: dict[str, Checks]) -> None:
    checks = found[APPROVAL][scenario]

    check(checks)
    if scenario == "input-required-result-result-type":
        assert "needs your approval" in json.dumps(checks)


@pytest.mark.spec("X5")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", NOT_APPLICABLE)
def test_a_scenario_that_does_not_apply_is_not_passed_either(
    scenario: str, found: dict[str, Checks], record_property: Record
) -> None:
    """A scenario that passes belongs in the list of those that must."""
    record_property("scenario", f"            {scenario}")
    record_property("verdict", f"does not apply: {NOT_APPLICABLE[scenario]}")
    ran = [checks[scenario] for checks in found.values() if scenario in checks]

    assert ran != []
    for checks in ran:
        assert {each["status"] for each in checks} & {"FAILURE", "SKIPPED"}


def test_every_scenario_passes_or_does_not_apply() -> None:
    listed = subprocess.run(suite("list", "--server"), capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  - (\S+) ", listed, re.MULTILINE)

    assert sorted(names) == sorted((*TASKS, *OLDER, *BOTH, *NEW, *NOT_APPLICABLE))


@pytest.mark.timeout(300)
def test_every_scenario_of_an_era_was_run_in_it(found: dict[str, Checks]) -> None:
    left = set(NOT_APPLICABLE)

    assert set(found[OLDER_ERA]) - left == {*OLDER, *BOTH}
    assert set(found[NEWER_ERA]) - left == {*BOTH, *NEW}


def test_the_document_counts_the_scenarios() -> None:
    text = " ".join((PLACE / "docs" / "reference" / "mcp.md").read_text().split())

    assert f"{len(OLDER) + len(BOTH)} of the older era and {len(BOTH) + len(NEW)} of the newer" in text
