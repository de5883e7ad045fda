"""The event payload of a run: the signals that led to it, as its process and its agent see them.

They come from outside and are not trusted: they go into a file, into variables and, for an agent, between two
marks that the text cannot forge; never into a line that a shell reads.
"""

from __future__ import annotations

import os

from errands.model.errors import ErrandsError
from errands.model.text.json_text import plain_text
from errands.model.trigger import On
from errands.ports.own_file import open_own, replace_file
from errands.ports.rundir import EVENT_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.engine.engine import Engine
    from errands.model.run import Run
    from errands.model.schedule.watch import Signal
    from errands.model.task import Task
    from errands.ports.home import Home
    from errands.ports.store import Store

LONGEST = 8000  # bytes of the payload in a prompt; the file has the rest
_SUMMARY = 1000
_CAUSES = ("event", "retry")
_FILE = "ERRANDS_EVENT_FILE"


def event_payload(store: Store, task: Task, run: Run) -> list[Signal]:
    """Return the signals that led to a run; a retry has those of the run that failed."""
    if run.cause not in _CAUSES or not isinstance(task.trigger, On):
        return []
    number = run.number
    while number > 1 and store.run(f"{task.id}.{number}").cause == "retry":
        number -= 1
    return store.signals(task.id, run=number)


def variables(trigger: On, signals: list[Signal], directory: str) -> dict[str, str]:
    """Return the payload as variables, without line ends and unprintable characters."""
    return {
        "ERRANDS_EVENT_SOURCE": trigger.source,
        "ERRANDS_EVENT_SUBJECT": _line(trigger.subject),
        "ERRANDS_EVENT_SUMMARY": _line(_text(signals[-1]))[:_SUMMARY],
        "ERRANDS_EVENT_COUNT": str(len(signals)),
        _FILE: f"{directory}/{EVENT_FILE}",
    }


def write_file(trigger: On, signals: list[Signal], directory: str) -> None:
    """Write the whole payload to the run's event file, before the run starts."""
    _write(_content(trigger, signals), directory)


def packed(store: Store, task: Task, run: Run) -> dict[str, Any] | None:
    """Return the payload of a run for another host; None if no event led to it."""
    signals = event_payload(store, task, run)
    if not signals:
        return None
    assert isinstance(task.trigger, On)
    said = variables(task.trigger, signals, "")
    del said[_FILE]  # is another one there
    return {"variables": said, "content": _content(task.trigger, signals)}


def guest_file(home: Home, number: int | str) -> str:
    """Return where the payload of a run of another home is kept until the run starts."""
    return f"{home.guests}/{number}.{EVENT_FILE}"


def keep(path: str, event: Mapping[str, Any]) -> None:
    """Keep the payload of a run of another home."""
    replace_file(path, str(event["content"]).encode())


def hand_over(kept: str, directory: str) -> dict[str, str]:
    """Write what is kept to the event file of a run; return the variable that names it."""
    try:
        with open(kept, encoding="utf-8") as file:
            content = file.read()
    except FileNotFoundError:
        return {}
    _write(content, directory)
    return {_FILE: f"{directory}/{EVENT_FILE}"}


def _content(trigger: On, signals: list[Signal]) -> str:
    head = plain_text({"source": trigger.source, "subject": trigger.subject, "count": len(signals)})
    # Each signal is stored as JSON already.
    return f'{head[:-1]}, "signals": [{", ".join(each.body for each in signals)}]}}\n'


def _write(content: str, directory: str) -> None:
    # An empty directory would look as if the run had started and removed its record.
    new = directory if os.path.isdir(directory) else f"{directory}.new"
    try:
        os.makedirs(new, 0o700, exist_ok=True)
        file = open_own(f"{new}/{EVENT_FILE}", os.O_WRONLY)
        with open(file, "w", encoding="utf-8") as stream:
            stream.truncate()
            stream.write(content)
        os.rename(new, directory)
    except OSError as error:
        raise ErrandsError(f"cannot write the event file of the run: {error.strerror}") from error


def prompt_with_event(engine: Engine, task: Task, run_id: str, text: str) -> str:
    """Return the prompt of a run with its event payload, if it has one."""
    if not isinstance(task.trigger, On):
        return text
    signals = event_payload(engine.store, task, engine.store.run(run_id))
    # On another host the run has another directory.
    directory = "$ERRANDS_RUN_DIR" if task.host else engine.home.run(run_id)
    return with_payload(text, task.trigger, signals, directory) if signals else text


def with_payload(text: str, trigger: On, signals: list[Signal], directory: str) -> str:
    """Append signals to a prompt as data: the latest first, as many as there is room for."""
    from errands.text import fenced

    said: list[str] = []
    size = 0
    for each in reversed(signals):
        size += len(each.body)
        if said and size > LONGEST:
            break
        said.append(each.body[:LONGEST])
    before = len(signals) - len(said)
    more = f"\n(and {before} before: {directory}/{EVENT_FILE})" if before else ""
    body = f"{len(signals)} from {trigger.source}:{trigger.subject}\n" + "\n".join(said) + more
    return f"{text}\n\n{fenced(body, 'event')}"


def _text(signal: Signal) -> str:
    import json

    try:
        return str(json.loads(signal.body)["text"])
    except (ValueError, KeyError, TypeError):
        return ""


def _line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)
