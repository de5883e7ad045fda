"""A reader: a process that takes the notices of all owners as they come, beside others that do the same.

It writes the notices to its file. Readers are never killed, because the last notices of one would be unknown.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from errands import bootstrap, config
from errands.model.errors import StoreError
from tests.chaos import mutants
from tests.chaos.plan import OWNERS

PAUSE = 0.03
LIMIT = 60  # seconds: a reader that hangs is ended by the alarm, which the harness sees


def main(base: str, name: str) -> None:
    engine = bootstrap.open_engine(config=config.load(cwd="/"))
    file = os.open(f"{base}/notices.{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    while True:
        signal.alarm(LIMIT)
        is_last = os.path.exists(f"{base}/over")
        took = False
        for owner in OWNERS:
            try:
                notices = engine.take_notices(owner, reader=name, limit=7)
            except StoreError:
                continue  # the disk is full or the store is locked: nothing was handed over
            for notice in notices:
                took = True
                facts = json.loads(notice.body)
                line = {
                    "id": notice.id,
                    "run": notice.run_id,
                    "event": notice.event,
                    "owner": owner,
                    "body": facts,
                }
                os.write(file, json.dumps(line).encode() + b"\n")
        if not took:
            if is_last:
                return
            time.sleep(PAUSE)


if __name__ == "__main__":
    mutants.break_engine()
    main(sys.argv[1], sys.argv[2])
