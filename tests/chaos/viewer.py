"""A viewer: a process that reads the output of tasks while they print, as people and agents do.

It must never hang, always make progress, and never see output that no task has printed.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from errands import bootstrap, config
from errands.model.errors import NotFound
from errands.ports.store import Query
from tests.chaos import mutants, plan
from tests.chaos.reader import LIMIT, PAUSE


def main(base: str) -> None:
    with open(f"{base}/plan.json") as file:
        planned_tasks = {planned.token: planned for planned in plan.read(file.read()).planned_tasks}
    with open(os.environ["CHAOS_BLOB"], "rb") as file:
        blob = file.read()
    engine = bootstrap.open_engine(config=config.load(cwd="/"))
    offsets: dict[str, int] = {}
    printed: dict[str, bytes] = {}
    while not os.path.exists(f"{base}/over"):
        signal.alarm(LIMIT)
        for view in engine.list(Query(states=("running",))):
            run_id = view.latest.id
            before = offsets.get(run_id, 0)
            try:
                piece, last = engine.output(run_id, offset=before), engine.tail(run_id, 3)
            except NotFound:
                continue  # it was cleared meanwhile
            offsets[run_id] = piece.next_offset
            whole = printed.setdefault(view.name, b"") or planned_tasks[view.name].output(blob)
            printed[view.name] = whole
            for each in (piece, last):
                if each.content != whole[each.offset : each.next_offset]:
                    sys.exit(f"{run_id} never printed what its log had at {each.offset}")
            if piece.next_offset != before + piece.missing + len(piece.content):
                sys.exit(f"{run_id}: reading on from {before} led to {piece.next_offset}")
        time.sleep(PAUSE)


if __name__ == "__main__":
    mutants.break_engine()
    main(sys.argv[1])
