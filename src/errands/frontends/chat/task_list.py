"""The list of `/tasks`: an icon, the id, the description and the time of each task, newest first.

It has the words and icons of Claude Code's `/tasks`; the states of `errands ls` select as well.
"""

from __future__ import annotations

from errands.dialects.claude import listed
from errands.dialects.projections import CLAUDE, CLAUDE_TYPES, claude, claude_type
from errands.engine.engine import Engine
from errands.model.agent.session import is_conversation
from errands.model.errors import BadValue
from errands.model.states import ENDED, OPEN, STANDING
from errands.ports.store import Query
from errands.text import did_you_mean

NOTHING = "No background tasks."
SHOWN = 50
WIDE = 70
_OURS = tuple(dict.fromkeys((*OPEN, *STANDING, *ENDED, "done", "rejected")))
STATUSES = tuple(dict.fromkeys((*CLAUDE, *_OURS)))
TYPES = (*CLAUDE_TYPES, "shell")  # `shell` is our own word for bash


def task_list(engine: Engine, words: str) -> list[str]:
    """Return the lines of the list; `words` are statuses and types, of which each task has one of each."""
    wanted = words.split()
    for word in wanted:
        if word not in STATUSES and word not in TYPES:
            known = (*STATUSES, *TYPES)
            raise BadValue(
                f"/tasks cannot list {word!r}{did_you_mean(word, known)}; choose from: {', '.join(known)}"
            )
    statuses = [word for word in wanted if word in STATUSES]
    types = ["bash" if word == "shell" else word for word in wanted if word in TYPES]
    states = tuple(statuses) if "rejected" in statuses else ()  # rejected tasks are in no other list
    views = [
        view
        for view in engine.list(Query(states=states, with_commands=False))
        if not is_conversation(view)
        and (not statuses or claude(view) in statuses or view.state in statuses)
        and (not types or claude_type(view) in types)
    ]
    if not views:
        return [NOTHING]
    now, rule = engine.clock.now(), "─" * WIDE
    lines = [engine.mask(view.id).text(listed(view, now)) for view in views[:SHOWN]]
    if len(views) > SHOWN:
        lines.append(f"[{len(views) - SHOWN} older ones are left out; name a status or a type]")
    return ["Background Tasks:", rule, *lines, rule, "/show ID shows one, /logs ID its output."]
