"""The time zone of a draft's trigger: the caller's zone, by name."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from errands.engine.engine import Engine
from errands.engine.submit import draft_trigger
from errands.engine.submit.draft_trigger import local_zone
from errands.model.errors import BadValue
from errands.model.options.draft import Draft


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose clock is set to Vienna."""
    zone = tmp_path / "zoneinfo" / "Europe" / "Vienna"
    zone.parent.mkdir(parents=True)
    zone.touch()
    (tmp_path / "localtime").symlink_to(zone)
    monkeypatch.setattr(draft_trigger, "_LINK", str(tmp_path / "localtime"))
    monkeypatch.setattr(draft_trigger, "_NAME", str(tmp_path / "timezone"))
    return tmp_path


def test_the_zone_is_the_callers_or_the_machines(machine: Path) -> None:
    assert local_zone({}) == "Europe/Vienna"
    assert local_zone({"TZ": "Asia/Tokyo"}) == "Asia/Tokyo"
    assert local_zone({"TZ": ":Asia/Tokyo"}) == "Asia/Tokyo"
    assert local_zone({"TZ": f":{machine}/localtime"}) == "Europe/Vienna"


def test_a_machine_may_name_its_zone_in_a_file_or_not_at_all(machine: Path) -> None:
    os.unlink(machine / "localtime")
    assert local_zone({}) == "UTC"
    (machine / "timezone").write_text("America/Lima\n")
    assert local_zone({}) == "America/Lima"


@pytest.mark.spec("T1", "X13")
def test_a_cron_line_uses_the_zone_of_its_caller(client: Engine) -> None:
    environ = {**os.environ, "TZ": "Asia/Tokyo"}
    strange = {**os.environ, "TZ": "EST5EDT,M3.2.0,M11.1.0"}
    task = client.submit(Draft(command="true", cron="0 9 * * *", environ=environ))
    assert task.standing is not None
    assert task.standing.rule == "cron 0 9 * * * (Asia/Tokyo)"

    client.submit(Draft(command="true", every=timedelta(hours=1), environ=strange))
    with pytest.raises(BadValue, match="unknown time zone"):
        client.submit(Draft(command="true", cron="0 9 * * *", environ=strange))
