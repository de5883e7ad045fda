"""The live stream of a chat's answer: one line of JSON for each thing an agent says or does.

It is a file in the directory of the run. What counts is the answer in the store, so a lost line costs
nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress

from errands.model.record import record
from errands.ports.agent import Activity
from errands.ports.own_file import open_file, open_own
from errands.ports.rundir import SPEECH

_CHUNK = 1 << 20


class Speech:
    def __init__(self, directory: str) -> None:
        self._path = f"{directory}/{SPEECH}"

    def note(self, event: Activity) -> None:
        if event.kind == "usage":
            return
        line = json.dumps(
            {"kind": event.kind, "name": event.name, "text": event.text, "failed": event.failed}
        )
        with suppress(OSError):
            file = open_own(self._path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(file, f"{line}\n".encode())
            finally:
                os.close(file)


@record
class Said:
    kind: str
    name: str
    text: str
    failed: bool


class SpeechReader:
    def __init__(self, directory: str) -> None:
        self._path = f"{directory}/{SPEECH}"
        self._place = 0

    def read(self) -> Iterator[Said]:
        """Yield what was written since the last call."""
        try:
            file = open_file(self._path)
            try:
                content = os.pread(file, _CHUNK, self._place)
            finally:
                os.close(file)
        except OSError:
            return
        whole = content[: content.rfind(b"\n") + 1]
        self._place += len(whole)
        for line in whole.splitlines():
            with suppress(ValueError, TypeError):
                yield Said(**json.loads(line))
