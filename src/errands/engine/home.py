"""The home: the one directory in which everything of an engine lives."""

from __future__ import annotations

from errands.model.record import record


@record
class Home:
    path: str

    @property
    def store(self) -> str:
        return f"{self.path}/errands.db"

    @property
    def runs(self) -> str:
        return f"{self.path}/runs"

    @property
    def lock(self) -> str:
        return f"{self.path}/lock"

    @property
    def bell(self) -> str:
        return f"{self.path}/bell"

    @property
    def log(self) -> str:
        return f"{self.path}/daemon.log"

    def run(self, run_id: str) -> str:
        return f"{self.path}/runs/{run_id}"
