"""The header of a run's log: what runs, where, and who approved it, so that the file can be understood alone.

It is there when a launch returns. Who approves a proposed task, and when a run starts, is added at its start.
"""

from __future__ import annotations

import sys

from errands.model.action import Prompt, written
from errands.ports import rundir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.model.run import Run
    from errands.model.task import Task


def create_log(runs_dir: str, task: Task, run: Run, *, prompt: str | None = None) -> None:
    """Create the log of a run that is about to be committed, so that no shim can have begun with it."""
    rundir.create(f"{runs_dir}/{run.id}", log_header(task, run, prompt=prompt))


def renew_log(runs_dir: str, task: Task, run: Run) -> None:
    """Replace the log of a pending run; call it inside a transaction, so that no shim can begin with it."""
    rundir.renew_log(f"{runs_dir}/{run.id}", log_header(task, run))


def log_header(task: Task, run: Run, *, started: datetime | None = None, prompt: str | None = None) -> bytes:
    """Write the header; `prompt` is what an agent is asked in this run, if that differs from the task."""
    action = task.action
    lines = [f"task      {task.id}, run {run.number}"]
    if isinstance(action, Prompt):
        lines += [f"agent     {action.agent}", f"prompt    {action.text if prompt is None else prompt}"]
    else:
        lines += [f"command   {written(each)}" for each in action.commands]
    lines.append(f"directory {action.cwd}")
    if task.approved_by is not None:
        at = utc_text(task.approved_at or task.created_at)
        lines.append(f"approved  by {task.approved_by}, {at} ({task.door})")
    if started is not None:
        lines.append(f"started   {utc_text(started)}")
    text = "# " + "\n# ".join(lines) + "\n"
    if len(text.splitlines()) > len(lines):
        # Every line is marked, whatever the command contains: the header must not be mistaken for output.
        text = "".join(f"# {line}\n" for each in lines for line in each.splitlines())
    return text.encode(sys.getfilesystemencoding(), "surrogateescape") + b"\n"


def utc_text(moment: datetime) -> str:
    return moment.isoformat(" ", "seconds")[:19] + " UTC"
