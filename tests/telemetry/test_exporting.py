"""A real daemon, a real exporter and a collector on loopback: every ended run is exported."""

from __future__ import annotations

import json
import logging
import socket
from pathlib import Path
from typing import Any

import pytest

from errands.engine.engine import Engine
from errands.engine.tracing import LONGEST
from errands.model.options.draft import Draft
from errands.model.text.ids import span_id
from errands.ports.home import Home
from errands.runners.system import linux
from errands.telemetry import cursor
from errands.telemetry.exporter import Exporter
from errands.telemetry.settings import read
from tests.engine.daemons import Daemons, eventually, finished
from tests.telemetry.collector import Collector

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


def executions(collector: Collector) -> dict[str, dict[str, Any]]:
    return {each["attributes"]["task.id"]: each for each in collector.named("background_task_execute")}


def exporters(home: Home) -> list[int]:
    return [pid for pid in linux.marked("ERRANDS_HOME", home.path) if b"run_exporter" in _words(pid)]


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def exporter(client: Engine, home: Home, collector: Collector) -> Exporter:
    return Exporter(client.tracing, read({ENDPOINT: collector.url}), home.spans)


@pytest.mark.spec("X10", "A7")
def test_the_spans_of_a_run_arrive_with_all_their_facts(
    home: Home, client: Engine, daemons: Daemons, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "tenant=7")
    daemons.start()
    task = client.submit(Draft(command=("sh", "-c", "exit 3")))
    finished(client, task.id)
    eventually(lambda: task.id in executions(collector))

    span = executions(collector)[task.id]
    (start,) = collector.named("background_task_start")
    facts = span["attributes"]
    assert facts["task.command"] == "sh -c 'exit 3'"
    assert (facts["task.status"], facts["task.exit_code"]) == ("failed", 3)
    assert facts["task.pid"] > 1
    assert facts["task.approved_by"] == client.get(task.id).approved_by == "judge"
    assert span["status"]["code"] == 2
    assert span["spanId"] == span_id(f"{task.id}.1", task.latest.created_at)
    assert span["parentSpanId"] == start["spanId"]
    assert span["links"] == [{"traceId": start["traceId"], "spanId": start["spanId"]}]
    assert collector.resources[0]["service.name"] == "errands"
    assert collector.headers[0]["tenant"] == "7"


@pytest.mark.spec("X10")
def test_no_span_of_a_burst_is_lost_when_the_daemon_is_killed_in_it(
    home: Home, client: Engine, daemons: Daemons, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, collector.url)
    daemons.start()
    ids = {view.id for view in client.submit_all([Draft(command=("true",)) for _ in range(400)])}
    eventually(lambda: len(executions(collector)) > 20)
    daemons.kill()
    daemons.start()
    for each in ids:
        finished(client, each)
    eventually(lambda: executions(collector).keys() >= ids)

    assert executions(collector).keys() == ids


def test_without_an_endpoint_there_is_no_exporter(home: Home, client: Engine, daemons: Daemons) -> None:
    daemons.start()
    finished(client, client.submit(Draft(command=("true",))).id)

    assert exporters(home) == []
    assert not Path(home.spans).exists()


def test_a_wrong_endpoint_stops_the_exporter_and_not_the_daemon(
    home: Home, client: Engine, daemons: Daemons, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, "localhost:4317")
    daemons.start()
    finished(client, client.submit(Draft(command=("true",))).id)

    assert exporters(home) == []
    assert "no spans are exported" in Path(home.log).read_text()


def test_the_exporter_ends_with_its_daemon(
    home: Home, daemons: Daemons, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, collector.url)
    daemons.start()
    eventually(lambda: len(exporters(home)) == 1)
    daemons.kill()
    eventually(lambda: exporters(home) == [])


def test_what_had_ended_before_is_not_sent_but_what_was_running_is(
    home: Home, client: Engine, daemons: Daemons, collector: Collector, tmp_path: Path
) -> None:
    daemons.start()
    finished(client, client.submit(Draft(command=("true",))).id)
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    task = client.submit(Draft(command=wait))
    cursor.begin(home.spans, client.tracing)
    sending = exporter(client, home, collector)
    sending.export()
    assert collector.spans == []

    (tmp_path / "go").touch()
    finished(client, task.id)
    sending.export()
    assert executions(collector).keys() == {task.id}


def test_what_a_collector_cannot_take_now_is_sent_later(
    home: Home, client: Engine, daemons: Daemons, collector: Collector
) -> None:
    daemons.start()
    cursor.begin(home.spans, client.tracing)
    task = client.submit(Draft(command=("true",)))
    finished(client, task.id)
    collector.answers = [503, 429]
    looks = iter([True] * 1000)
    exporter(client, home, collector).run(
        is_wanted=lambda: next(looks) and task.id not in executions(collector), every=0.02
    )
    assert collector.refused == 2
    assert executions(collector).keys() == {task.id}


def test_while_the_collector_is_away_the_cursor_stays(home: Home, client: Engine, daemons: Daemons) -> None:
    daemons.start()
    cursor.begin(home.spans, client.tracing)
    before = Path(home.spans).read_text()
    task = client.submit(Draft(command=("true",)))
    finished(client, task.id)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    away = Exporter(client.tracing, read({ENDPOINT: f"http://127.0.0.1:{port}"}), home.spans)
    with pytest.raises(OSError, match="refused"):
        away.export()
    assert Path(home.spans).read_text() == before

    with Collector(port).open() as collector:
        away.export()
        assert executions(collector).keys() == {task.id}


def test_what_a_collector_refuses_for_good_is_left_out_and_said(
    home: Home, client: Engine, daemons: Daemons, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    daemons.start()
    cursor.begin(home.spans, client.tracing)
    sending = exporter(client, home, collector)
    finished(client, client.submit(Draft(command=("true",))).id)
    collector.answers = [400]
    with caplog.at_level(logging.ERROR):
        sending.export()
    assert "refuses 2 spans" in caplog.text

    task = client.submit(Draft(command=("true",)))
    finished(client, task.id)
    sending.export()
    assert executions(collector).keys() == {task.id}


def test_a_run_in_the_place_of_a_removed_one_is_sent(
    home: Home, client: Engine, daemons: Daemons, collector: Collector
) -> None:
    daemons.start()
    cursor.begin(home.spans, client.tracing)
    sending = exporter(client, home, collector)
    first = client.submit(Draft(command=("true",)))
    finished(client, first.id)
    sending.export()
    client.clear([first.id])
    second = client.submit(Draft(command=("true",)))
    finished(client, second.id)
    sending.export()
    assert executions(collector).keys() == {first.id, second.id}


def test_a_cursor_that_cannot_be_read_sends_everything_again(
    home: Home, client: Engine, daemons: Daemons, collector: Collector
) -> None:
    daemons.start()
    task = client.submit(Draft(command=("true",)))
    finished(client, task.id)
    Path(home.spans).write_text("{")
    exporter(client, home, collector).export()
    assert executions(collector).keys() == {task.id}
    assert json.loads(Path(home.spans).read_text())["run"] == f"{task.id}.1"


def test_secrets_stay_here(home: Home, client: Engine, daemons: Daemons, collector: Collector) -> None:
    daemons.start()
    cursor.begin(home.spans, client.tracing)
    secret = "s3cret-0f-many-w0rds"
    task = client.submit(Draft(command=("echo", secret), env={"API_TOKEN": secret}))
    finished(client, task.id)
    exporter(client, home, collector).export()
    assert collector.spans
    assert secret not in json.dumps(collector.spans)


@pytest.mark.spec("O12")
def test_why_a_run_failed_is_sent_masked_and_short(
    home: Home, client: Engine, daemons: Daemons, collector: Collector
) -> None:
    daemons.start()
    cursor.begin(home.spans, client.tracing)
    secret = "s3cret-0f-many-w0rds"
    name = f"/none/{'deep/' * 1000}{secret}"
    task = client.submit(Draft(command=(f"/none/{secret}",), name="short", env={"API_TOKEN": secret}))
    long = client.submit(Draft(command=(name,), name="long", env={"API_TOKEN": secret}))
    for each in (task, long):
        assert secret in str(finished(client, each.id).latest.error)
    exporter(client, home, collector).export()

    said = executions(collector)[task.id]["status"]["message"]
    assert "/none/[masked: API_TOKEN]" in said
    assert secret not in json.dumps(collector.spans)
    assert len(executions(collector)[long.id]["status"]["message"]) <= LONGEST
    assert all(len(str(each)) <= LONGEST for each in executions(collector)[long.id]["attributes"].values())
