"""What is new in the output of running tasks is heard by those who want to know it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.engine.live.hub import Change, listen
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.testing.engines import until
from tests.engine.daemons import Daemons
from tests.engine.live.test_changes import heard


@pytest.mark.spec("O9")
async def test_a_listener_hears_of_the_output_of_the_tasks_that_it_names(
    client: Engine, daemons: Daemons, home: Home, tmp_path: Path
) -> None:
    daemons.start()
    for name in ("gate", "end"):
        os.mkfifo(tmp_path / name)
    engine, wanted = open_engine(home), set[str]()
    grown: set[str] = set()

    def is_it(change: Change) -> bool:
        grown.update(change.grown)
        return bool(change.grown & wanted)

    async with listen(engine, lambda: wanted) as changes:
        other = client.submit(Draft(command=f"echo other; read x < {tmp_path}/end"))
        await until(lambda: client.output(other.id).content == b"other\n")
        wanted.add(client.submit(Draft(command=f"read x < {tmp_path}/gate; echo heard; sleep 1000")).id)
        await until(lambda: client.counts()["running"] == 2)
        (tmp_path / "gate").write_text("\n")
        await heard(changes, is_it)
    engine.close()

    assert grown == wanted
    (tmp_path / "end").write_text("\n")
    client.cancel([*wanted])
