"""The fields of a task in JSON, for the reference. Scripts rely on these names."""

from __future__ import annotations

from errands.model.errors import BadValue
from errands.model.options.table import OPTIONS
from errands.model.view import View, as_json
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# A field that shows an option means what the option means.
_OPTION = {option.name: option.help for option in OPTIONS}
_OR_NULL = {name: f"{meaning}, or null" for name, meaning in _OPTION.items()}
_ONE_OF = {
    option.name: f"{option.help}: {', '.join(f'`{choice}`' for choice in option.choices)}"
    for option in OPTIONS
}

# In the order in which they are printed.
ALWAYS = {
    "id": "the task's id",
    "kind": "what is run: `shell` or `agent`; `remote` if another host runs it",
    "state": "in one word: `proposed`, `pending`, `running`, `resumed`, `completed`, `failed`, `cancelled`, "
    "`skipped`, `rejected`; for a recurring task its own: `active`, `paused`, `done`, `failed`, `cancelled`",
    "task_state": "the state of the task itself",
    "run_state": "the state of its latest run; null before the first",
    "cancelling": "whether the latest run was asked to stop and has not ended yet",
    "paused_at": "since when its processes are paused or, if it has not started, it is held; or null",
    "paused_for": "how many seconds its latest run was paused before, all pauses together",
    "name": _OPTION["name"],
    "description": "what the task is for; without a description its name or command",
    "command": "the command as it would be typed; null for an agent",
    "prompt": "the first prompt of an agent, or null",
    "cwd": "the directory it runs in",
    "host": "the name or label of the host that it was started for; null for this one",
    "runs_on": "the host that has or had its latest run; null if that is this one, or no host has it yet",
    "no_host": "why no host has begun a run that was placed, in a sentence, or null",
    "lane": _OPTION["lane"],
    "priority": _OPTION["priority"],
    "batch": _OR_NULL["batch"],
    "key": "the key it was started with, or null",
    "template": _OR_NULL["template"],
    "owner": _OPTION["owner"],
    "notify": _ONE_OF["notify"],
    "parent": "the session that started it, or null",
    "parent_task": "the task whose agent ran it as one of its commands, or null",
    "created_at": "when it was created; all times are ISO 8601 in UTC",
    "created_by": "who created it",
    "updated_at": "when it last changed",
    "due_at": "when it is due to start, or null",
    "schedule": "when it recurs, in words such as `every 30m` or `on file:src/*.py`, or null",
    "next_run_at": "when it runs next, or null",
    "last_run_at": "when it last ran, or null",
    "run_count": "how often it ran; retries are not counted",
    "max_runs": "after how many runs it is done, or null",
    "health": "the health of the watch of a task that waits for events: `new`, `well`, `failing`, `broken`; "
    "or null",
    "checked_at": "when its source was last checked, or null",
    "last_event_at": "when the last event happened, or null",
    "waits": "how many tasks it waits for",
    "run_id": "the id of the latest run, `ID.NUMBER`",
    "span_id": "the span of that run in a trace",
    "started_at": "when that run started, or null",
    "completed_at": "when that run ended, or null",
    "exit_code": "its exit code, or null",
    "signal": "the number of the signal that killed it, or null",
    "failure": "why it failed, in one word such as `exit`, `signal`, `timeout`, `lost`, or null",
    "error": "the same in a sentence, or null",
    "pid": "its process, or null",
    "duration": "how many seconds it took, or null",
    "output_file": "the file with its output, not masked; a run that printed nothing may have none",
    "output_bytes": "how many bytes it printed",
    "output_lines": "how many lines it printed",
    "output_failed": "why part of the output could not be written, or null",
    "truncated": "whether the middle of the output was dropped",
    "leftovers": "how many processes were left at its end, and were ended with it",
    "summary": "the result in a few words, or null",
    "retrieved_at": "when the result was first read, or null",
    "activity_at": "when a running task last printed something, or null",
    "progress": "an object with `percent`, `done`, `total` and `text`, or null",
    "verdict": "the judge's verdict: `auto`, `contained` or `ask`",
    "door": "the frontend it was approved or started through: `terminal`, `cli`, `python` ...",
    "approved_by": "who approved it; `judge` for a harmless command; null while it waits for approval",
    "approved_at": "when it was approved, or null",
    "approval": "the number of the question that waits for an answer, or null",
    "reasons": "why it needs approval: objects with `text`, `undo` (`yes`, `no`, `unknown`) and `kind`",
    "expires_at": "when the question expires, or null",
    "agent": "the agent that answers the prompt, or null",
    "model": _OR_NULL["model"],
    "resumed": "whether a follow-up prompt is being answered",
    "resume_count": "how often it was resumed",
    "forked": "whether it began with a copy of another conversation",
    "waiting": "what its agent waits for: `approval`, `task`, `turn`, `slot`, or null",
    "tool_calls": "how many tool calls its agent made in the latest run",
    "recent_tools": "the tools it used last",
    "usage": "the tokens, requests and tool calls of the latest run",
    "answer": "the answer of the latest run, or null",
    "timeout": "an agent: the longest a run may take, in seconds; null: no limit",
    "channels": "where it reports besides the inbox, each as `NAME:TARGET`",
    "wake": "how its end will be reported",
    "retry": "which try its live run is: `number`, `of`, and `at`, when it may start; or null",
    "runs": "how many runs it has had",
}
ALONE = {
    "commands": "the command and those that follow it; a string for a shell line, a list for words",
    "before": "the hooks that run first",
    "finally": "the hooks that run last",
    "input": _ONE_OF["input"],
    "sandbox": "its sandbox: an object with `writable` and `network`, or null",
    "env": "the variables added to its environment, secrets masked",
    "after": "the tasks it waits for",
    "waiting_for": "those of them that have not ended",
    "message": _OR_NULL["message"],
    "limits": "its limits, its retries and its niceness; times in seconds, sizes in bytes",
    "files": "the files it left in its run's directory",
    "digest": "the digest of everything that would run; an approval is bound to it",
    "evidence": "what the verdict rests on besides the words: an object with `files`, `programs`, `links`",
    "removed_variables": "the variables removed from its environment because it runs without approval",
    "approvals": "the questions about it, as objects",
    "lost_hosts": "hosts that were lost while they had a run, which then began again on another one: objects "
    "with `run`, `host` and `at`",
    "history": "its runs, as objects; for a recurring task the latest 100. A run of an agent has its answer "
    "as `result`, and what that took as `usage`",
    "output_tail": "the last lines of its output, masked; also in `wait` and `run --wait`",
}
# For an agent's task, instead of commands, hooks, input and sandbox.
OF_AGENTS = {
    "session": "the name of the agent's session",
    "forked_from": "the session it began with a copy of, or null",
    "tools": "the tools its agent may use; null: the default ones",
    "depth": "how many agents are above this one",
    "budget": "what a run of its agent may use",
    "result": "the latest answer, or null",
}
# For a recurring task.
OF_RECURRING = {
    "trigger": "the schedule, or the event: an object with `kind` and its settings, durations in seconds",
    "next_runs": "its next five times",
    "slots": "the outcome of its latest slots: objects with `slot`, `until`, `count`, `outcome` (`ran`, "
    "`late`, `coalesced`, `skipped`, `missed`, or `waiting`), `reason`, `run` and `at`",
    "watched": "the shell line that is polled for the event, or null",
    "watch": "the watch of a task that waits for events: an object with `health`, `checked_at`, `failures`, "
    "`error`, `broken_until`, `waiting` (signals without a run) and `last_event`; otherwise null",
}


# What some verbs add to a task.
OF_VERBS = {
    "place": "`move`: its place in the lane",
    "next_offset": "`wait` and `run --wait`: where the output continues",
}
MOST_NAMED = 20  # fields in an error
OF_TASKS = (*ALWAYS, *ALONE, *OF_AGENTS, *OF_RECURRING, *OF_VERBS)


def wanted_fields(text: str, known: Sequence[str] = (), *, flag: str = "--json") -> tuple[str, ...]:
    """Split the names of fields; refuse one that is not known, with those that are."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise BadValue(f"{flag} needs the names of fields, such as {flag}=id,state")
    for name in names:
        if known and name not in known:
            raise _unknown(name, known, flag)
    return names


def picked(thing: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return these fields of an object; a field that only other tasks have is null."""
    for name in names:
        if name not in thing and not ("task_state" in thing and name in OF_TASKS):
            raise _unknown(name, tuple(thing), "--json")
    return {name: thing.get(name) for name in names}


def _unknown(name: str, known: Sequence[str], flag: str) -> BadValue:
    near = did_you_mean(name, known)
    choice = f"choose from: {', '.join(known)}"
    if len(known) > MOST_NAMED:
        prints = "errands ls --json shows" if flag == "--columns" else "--json alone prints"
        choice = f"{prints} all fields, and docs/reference/cli.md explains them"
    return BadValue(f"{flag}: unknown field {name!r}{near}; {choice}")


def field_text(view: View, name: str) -> str:
    """Return a field of a task as text for a table."""
    value = as_json(view)[name]
    if value is None or value is False:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "yes" if value is True else str(value)
