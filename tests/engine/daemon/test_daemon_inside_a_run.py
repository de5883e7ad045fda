"""A daemon started from inside a run outlives that run, along with its tasks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from errands import bootstrap
from errands.config import Config
from errands.engine.daemon.lock import daemon_facts
from errands.engine.waiting import wait
from errands.model.options.draft import Draft


@pytest.mark.spec("L20")
def test_the_end_of_a_run_does_not_end_a_daemon_started_in_it(tmp_path: Path) -> None:
    home = bootstrap.open_home(str(tmp_path / "home"))
    bootstrap.start_daemon(home)
    engine = bootstrap.open_engine(home, Config(), consent="yes")
    first = daemon_facts(home)
    assert first is not None
    daemon = first["pid"]
    try:
        inside = f"""
            kill -9 {daemon}
            while kill -0 {daemon} 2>/dev/null && ! grep -q '(.*) Z' /proc/{daemon}/stat; do :; done
            {sys.executable} -m errands run --name inner --json 'sleep 1; exit 5'
        """
        outer = engine.submit(Draft(command=inside, environ={**os.environ, "ERRANDS_HOME": home.path}))
        assert wait(engine, [outer.id], timeout=60) == []
        assert engine.get(outer.id).latest.exit_code == 0, engine.tail(outer.id).content

        assert wait(engine, [engine.resolve("inner")], timeout=60) == []
        assert engine.get("inner").latest.exit_code == 5
        second = daemon_facts(home)
        assert second is not None
        assert second["pid"] != daemon
    finally:
        facts = daemon_facts(home)
        if facts is not None:
            os.kill(facts["pid"], 15)
        engine.close()
