"""Metrics: the reference parser reads them, counters never fall, and the server has manners."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from errands.engine.engine import Engine
from errands.engine.live.metrics import Family, Sample, families, text
from errands.engine.live.metrics_server import MetricsServer
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.server_socket import listening
from errands.testing.engines import WITHIN, TestEngine
from tests.documents import ROOT

TOKEN = "t" * 40
UP = Family(name="errands_up", kind="gauge", help="Up.", samples=(Sample(value=1),))
SUFFIXES = {
    "counter": ("_total",),
    "histogram": ("_bucket", "_count", "_sum"),
    "gauge": ("",),
    "info": ("_info",),
}


def parsed(engine: Engine) -> dict[str, Any]:
    """Read the metrics with the reference parser, which refuses what the format forbids."""
    parser = importlib.import_module("prometheus_client.openmetrics.parser")
    return {each.name: each for each in parser.text_string_to_metric_families(text(families(engine)))}


def values(engine: Engine) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parsed(engine).values()
        for sample in family.samples
    }


@pytest.mark.spec("X23")
async def test_the_reference_parser_reads_what_there_is(engine: TestEngine) -> None:
    await engine.finished("true")
    await engine.finished("exit 3")
    await engine.answered("run `true`", agent="offline")
    found = parsed(engine.engine)
    kinds = {family.name: family.kind for family in families(engine.engine)}
    assert {name: family.type for name, family in found.items()} == kinds
    seen = values(engine.engine)
    assert seen["errands_up", ()] == 1
    assert seen["errands_failures_total", (("reason", "exit"),)] == 1
    assert seen["errands_runs_total", (("kind", "agent"), ("lane", "agent"), ("state", "completed"))] == 1
    assert seen["errands_tool_calls_total", ()] == 1
    assert seen["errands_lane_slots", (("lane", "shell"),)] == engine.engine.lane_widths()["shell"]
    shell = (("kind", "shell"),)
    assert seen["errands_run_duration_seconds_count", shell] == 3
    assert seen["errands_run_duration_seconds_bucket", (*shell, ("le", "+Inf"))] == 3
    assert seen["errands_run_duration_seconds_sum", shell] > 0


@pytest.mark.spec("X23")
async def test_counters_do_not_fall_when_tasks_are_cleared(engine: TestEngine) -> None:
    tasks = [await engine.finished("true"), await engine.finished("exit 3")]
    await engine.take_notices()
    before = values(engine.engine)
    await engine.clear(*(task.id for task in tasks))
    after = values(engine.engine)
    assert after["errands_kept_runs", (("state", "completed"),)] == 0
    growing = [key for key in before if key[0].endswith(("_total", "_bucket", "_count", "_sum"))]
    assert len(growing) > 20
    assert {key: after[key] for key in growing} == {key: before[key] for key in growing}
    delivered = ("errands_notices_total", (("channel", "inbox"), ("state", "delivered")))
    assert before[delivered] == 2


@pytest.mark.spec("X23", "D2")
def test_what_waits_is_a_gauge(asking: Engine, harm: Draft) -> None:
    view = asking.submit(harm)
    asking.submit(Draft(command=("true",)))
    seen = values(asking)
    assert seen["errands_up", ()] == 0
    assert seen["errands_approvals_waiting", ()] == 1
    assert seen["errands_live_runs", (("state", "proposed"),)] == 1
    assert seen["errands_queue_depth", (("lane", "shell"),)] == 1
    asking.reject(view.id, by="ada", door="terminal")
    seen = values(asking)
    assert seen["errands_approvals_waiting", ()] == 0
    assert seen["errands_answers_total", (("answer", "refused"),)] == 1


@asynccontextmanager
async def served(read: list[Family]) -> AsyncIterator[int]:
    listener = listening("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = MetricsServer(lambda: read, host="127.0.0.1", port=port, token=TOKEN)
    task = asyncio.create_task(server.serve(listener))
    try:
        yield port
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def asked(port: int, request: str, **headers: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    given = {"host": f"127.0.0.1:{port}", "authorization": f"Bearer {TOKEN}", **headers}
    lines = [f"{request} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value)]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    answer = await reader.read()
    writer.close()
    return answer.decode()


@pytest.mark.spec("X23")
async def test_a_scraper_with_the_token_gets_the_page_and_no_one_else_does() -> None:
    async with served([UP]) as port:
        page = await asked(port, "GET /metrics", accept="application/openmetrics-text;version=1.0.0")
        assert page.startswith(
            "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0;"
        )
        assert page.endswith("\nerrands_up 1\n# EOF\n")
        assert (await asked(port, "HEAD /metrics")).endswith("\r\n\r\n")
        for code, request, headers in (
            (401, "GET /metrics", {"authorization": ""}),
            (401, "GET /metrics", {"authorization": "Bearer wrong"}),
            (421, "GET /metrics", {"host": f"evil.example:{port}"}),
            (404, "GET /", {}),
            (405, "POST /metrics", {}),
            (400, "nonsense", {}),
        ):
            assert (await asked(port, request, **headers)).startswith(f"HTTP/1.1 {code} "), (request, headers)


@pytest.mark.spec("X23")
async def test_an_older_scraper_gets_the_older_format(engine: TestEngine) -> None:
    await engine.finished("exit 3")
    known = families(engine.engine)
    async with served(known) as port:
        for accept in ("", "*/*", "text/plain;version=0.0.4", "application/openmetrics-text;q=0, text/plain"):
            head, _, page = (await asked(port, "GET /metrics", accept=accept)).partition("\r\n\r\n")
            assert "\r\nContent-Type: text/plain; version=0.0.4;" in head
            parser = importlib.import_module("prometheus_client.parser")
            found = {each.name: each for each in parser.text_string_to_metric_families(page)}
            assert {
                name.removesuffix("_info"): "info" if name.endswith("_info") else family.type
                for name, family in found.items()
            } == {family.name: family.kind for family in known}
            assert "errands_failures_total" in page
            assert "# TYPE errands_failures_total counter" in page
            assert "EOF" not in page
        for accept in (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
            "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "text/plain, application/openmetrics-text",
        ):
            page = await asked(port, "GET /metrics", accept=accept)
            assert "\r\nContent-Type: application/openmetrics-text;" in page
            assert page.endswith("# EOF\n")


@pytest.mark.spec("X23")
def test_every_query_of_the_dashboard_names_metrics_that_exist(client: Engine) -> None:
    known = {
        family.name + suffix for family in families(client) for suffix in SUFFIXES[family.kind]
    }  # fmt: skip
    dashboard = json.loads((ROOT / "docs/how-to/errands-dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) > 10
    for query in queries:
        named = set(re.findall(r"\berrands_\w+", query))
        assert named, query
        assert named <= known, query


def test_the_document_names_every_metric(client: Engine) -> None:
    page = (ROOT / "docs/how-to/monitor.md").read_text()
    documented = set(re.findall(r"`(errands_\w+)`", page.partition("## What there is")[2]))
    shown = {"counter": "_total", "info": "_info"}
    assert documented == {family.name + shown.get(family.kind, "") for family in families(client)}


@pytest.mark.spec("X23")
async def test_the_command_serves_what_it_prints(client: Engine, home: Home) -> None:
    client.submit(Draft(command=("true",)))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "errands", "metrics", "--listen", "127.0.0.1:0",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        async with asyncio.timeout(WITHIN):
            url = (await process.stdout.readline()).decode().strip()
            port = int(url.removeprefix("http://127.0.0.1:").removesuffix("/metrics"))
            file = Path(home.metrics) / "token"
            assert file.stat().st_mode & 0o777 == 0o600
            page = await asked(
                port,
                "GET /metrics",
                authorization=f"Bearer {file.read_text()}",
                accept="application/openmetrics-text",
            )
        assert 'errands_queue_depth{lane="shell"} 1\n' in page
        assert page.endswith("\n# EOF\n")
    finally:
        process.kill()
        await process.communicate()
