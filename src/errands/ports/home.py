"""The home: the one directory in which everything of an engine lives."""

from __future__ import annotations

import os

from errands.model.record import record
from errands.model.text import progress
from errands.ports.rundir import EVENT_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.model.text.progress import Progress
    from errands.ports.output import OutputPort

_OWN = ("output.log", "output.tail", "progress", "control", "held", "held.new", "speech", EVENT_FILE)


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

    @property
    def spans(self) -> str:
        """The cursor of the exporter: which runs have been handed on."""
        return f"{self.path}/spans"

    @property
    def sender(self) -> str:
        """The lock of the process that delivers notices: there is one at a time."""
        return f"{self.path}/sender.lock"

    @property
    def listener(self) -> str:
        """The lock of the process that hears of events, likewise."""
        return f"{self.path}/listener.lock"

    def run(self, run_id: str) -> str:
        return f"{self.path}/runs/{run_id}"


def last_output(directory: str) -> float | None:
    """Tell when a run last printed something; None as long as it has no log."""
    last = None
    for name in ("output.log", "output.tail"):  # beyond half of the cap only the second one is written
        try:
            last = max(last or 0.0, os.stat(f"{directory}/{name}").st_mtime)
        except OSError:
            pass
    return last


def last_activity(directory: str) -> datetime | None:
    from datetime import UTC, datetime

    last = last_output(directory)
    return None if last is None else datetime.fromtimestamp(last, UTC)


def reported(directory: str) -> Progress | None:
    """Read the progress that a run reported on purpose."""
    try:
        with open(f"{directory}/progress", "rb") as file:
            return progress.parse(file.read(4096).decode("utf-8", "replace").strip())
    except OSError:
        return None


def recognised(output: OutputPort, directory: str) -> Progress | None:
    """Find progress in the last line of output, for tasks that do not report it on purpose."""
    try:
        piece = output.tail(directory, 1)
    except OSError:
        return None  # the task took its log away
    return progress.latest(piece.content.decode("utf-8", "replace"))


def files_in(directory: str) -> list[str]:
    """Name the files that a run left in its directory, but for our own."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    return [name for name in names if name not in _OWN and not name.startswith("record.")]


def remove_tree(directory: str) -> None:
    """Remove a run's directory; what cannot be removed now is swept by the janitor later."""
    import shutil

    # Under another name it cannot become the directory of a later run while it is being emptied.
    gone = directory if directory.endswith(".gone") else f"{directory}.gone"
    try:
        os.rename(directory, gone)
    except OSError:
        gone = directory
    shutil.rmtree(gone, ignore_errors=True)
