"""The output pump: a short command wakes its shim once, and a long one is still read as it prints."""

from __future__ import annotations

import os
import select
from pathlib import Path

from errands.runners.output.capped_log import Log
from errands.runners.output.output_pump import OutputPump, Progress
from errands.runners.system import system


def test_a_pipe_is_watched_after_a_moment(tmp_path: Path) -> None:
    poll = select.poll()
    log = Log(str(tmp_path), header=b"", cap=8192)
    pump = OutputPump(system.choose(), poll, log, Progress(str(tmp_path)))
    end = pump.open_pipe()

    os.write(end, b"early\n")
    assert poll.poll(0) == []
    assert pump.watch_at < float("inf")

    pump.watch()
    [(file, _)] = poll.poll(0)
    pump.read(file)
    assert (tmp_path / "output.log").read_bytes() == b"early\n"
    assert pump.watch_at == float("inf")

    os.close(end)
    pump.drain()
    assert not pump.files
    log.finish()


def test_a_pipe_that_was_never_watched_is_read_at_the_end(tmp_path: Path) -> None:
    poll = select.poll()
    log = Log(str(tmp_path), header=b"", cap=8192)
    pump = OutputPump(system.choose(), poll, log, Progress(str(tmp_path)))
    end = pump.open_pipe()

    os.write(end, b"all\n")
    os.close(end)
    pump.drain()

    assert (tmp_path / "output.log").read_bytes() == b"all\n"
    assert not pump.files
    log.finish()
