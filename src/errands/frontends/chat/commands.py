"""The commands of the chat: what begins with a slash, and the two words that answer a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from errands.model.errors import BadValue, ErrandsError, NotFound
from errands.model.record import record
from errands.model.text.naming import is_id
from errands.text import did_you_mean

if TYPE_CHECKING:
    from errands.frontends.chat.chat_session import ChatSession

    # Which tasks complete a word.
    Fits = Literal["", "tasks", "live", "ended", "proposed", "standing", "states"]

ANSWERS = ("approve", "reject")


@record
class Command:
    name: str
    usage: str
    summary: str
    run: Callable[[ChatSession, str], None]
    completes: Fits = ""


def background(room: ChatSession, rest: str) -> None:
    if not rest:
        raise BadValue("say what to run: /background make test")
    room.start(command=rest)


def tasks(room: ChatSession, rest: str) -> None:
    room.perform("ls", *(word for state in rest.split() for word in ("--state", state)))


def show(room: ChatSession, rest: str) -> None:
    room.perform("show", _id(rest, "/status"))


def cancel(room: ChatSession, rest: str) -> None:
    view = room.engine.cancel([_id(rest, "/cancel")], by=room.who)[0]
    room.say(f"{view.id} is {'being stopped' if view.is_live else view.state}")


def approve(room: ChatSession, rest: str) -> None:
    room.answer(rest, yes=True)


def reject(room: ChatSession, rest: str) -> None:
    room.answer(rest, yes=False)


def resume(room: ChatSession, rest: str) -> None:
    task_id, _, prompt = rest.partition(" ")
    if not prompt.strip():
        raise BadValue("say which task and what it shall do next: /resume ID PROMPT")
    view = room.engine.sessions.resume(task_id, prompt.strip())
    room.say(f"{view.id} goes on in the background  (/status {view.id})")


def logs(room: ChatSession, rest: str) -> None:
    task_id, _, count = rest.partition(" ")
    if count.strip() and not count.strip().isdecimal():
        raise BadValue(f"{count.strip()!r} is no number of lines: /logs ID 50")
    room.perform("logs", "--tail", count.strip() or "40", _id(task_id, "/logs"))


def restart(room: ChatSession, rest: str) -> None:
    room.restart(_id(rest, "/restart"))


def schedule(room: ChatSession, rest: str) -> None:
    """List, show or start: nothing, an id, or how often and what."""
    when, command = _when(rest)
    if not rest:
        room.perform("ls", "--state", "active", "--state", "paused")
    elif not command:
        room.perform("schedule", when)
    elif " " in when:
        room.start(command=command, cron=when)
    else:
        room.start(command=command, every=when)


def help_(room: ChatSession, rest: str) -> None:
    wide = max(len(each.usage) for each in COMMANDS)
    room.say(*(f"  {each.usage.ljust(wide)}  {each.summary}" for each in COMMANDS))
    room.say("  Anything else is for the agent. Ctrl-C interrupts its answer, Ctrl-D leaves.")


def quit_(room: ChatSession, rest: str) -> None:
    room.is_over = True


COMMANDS = (
    Command(
        name="/background",
        usage="/background COMMAND",
        summary="run a command in the background; its end is told here",
        run=background,
    ),
    Command(name="/tasks", usage="/tasks [STATE]", summary="list tasks", run=tasks, completes="states"),
    Command(
        name="/status", usage="/status ID", summary="show one task and the end of its output", run=show,
        completes="tasks",
    ),
    Command(name="/cancel", usage="/cancel ID", summary="end a task", run=cancel, completes="live"),
    Command(
        name="/approve", usage="/approve [ID]", summary="say yes; `approve ID` does the same", run=approve,
        completes="proposed",
    ),
    Command(
        name="/reject", usage="/reject [ID]", summary="say no; `reject ID` does the same", run=reject,
        completes="proposed",
    ),
    Command(
        name="/resume", usage="/resume ID PROMPT", summary="go on with an agent's task, in the background",
        run=resume, completes="ended",
    ),
    Command(name="/logs", usage="/logs ID [LINES]", summary="show output", run=logs, completes="tasks"),
    Command(
        name="/restart", usage="/restart ID", summary="run a task again that has ended", run=restart,
        completes="ended",
    ),
    Command(
        name="/schedule",
        usage="/schedule [ID | 30m COMMAND | 'CRON' COMMAND]",
        summary="list schedules, show one, or start one",
        run=schedule,
        completes="standing",
    ),
    Command(name="/help", usage="/help", summary="show this", run=help_),
    Command(name="/quit", usage="/quit", summary="leave, as Ctrl-D does", run=quit_),
)  # fmt: skip
BY_NAME = {each.name: each for each in COMMANDS}


def found(room: ChatSession, line: str) -> tuple[Command, str] | None:
    """Find the command that a line means; None when it is a message to the agent."""
    word, _, rest = line.strip().partition(" ")
    if word.startswith("/"):
        if word not in BY_NAME:
            raise BadValue(f"there is no command {word}{did_you_mean(word, BY_NAME)}; /help lists them")
        return BY_NAME[word], rest.strip()
    if word in ANSWERS and _is_answer(room, rest.strip()):
        return BY_NAME[f"/{word}"], rest.strip()
    return None


def _is_answer(room: ChatSession, rest: str) -> bool:
    """Tell `approve ID` from a sentence that begins with the word; alone it answers the one open question."""
    if not rest:
        return bool(room.questions)
    if " " in rest or not is_id(rest):
        return False
    try:
        room.engine.resolve(rest)
    except NotFound:
        return "-" in rest
    except ErrandsError:
        return True
    return True


def _id(rest: str, command: str) -> str:
    word, _, more = rest.strip().partition(" ")
    if not word:
        raise BadValue(f"say which task: {command} ID; /tasks lists them")
    if more.strip():
        raise BadValue(f"{command} takes one id, and {more.strip()!r} is more")
    return word


def _when(rest: str) -> tuple[str, str]:
    """Take the first word, or what stands in quotes, off a line."""
    quote = rest[:1]
    if quote and quote in "'\"" and quote in rest[1:]:
        when, _, command = rest[1:].partition(quote)
    else:
        when, _, command = rest.partition(" ")
    return when.strip(), command.strip()


def fitting(room: ChatSession, line: str) -> Iterator[tuple[str, str]]:
    """Give what completes the last word of a line, each with a few words about it."""
    from errands.model.states import ENDED, OPEN, STANDING
    from errands.model.text.sanitise import line as one_line
    from errands.ports.store import Query

    first, *more = line.split(" ")
    if not more:
        if line:
            names = {each.name: each.summary for each in COMMANDS} | dict.fromkeys(
                ANSWERS, "answer a question"
            )
            yield from ((name, about) for name, about in names.items() if name.startswith(line))
        return
    command = BY_NAME.get(first if first.startswith("/") else f"/{first}" if first in ANSWERS else "")
    if command is None or len(more) > 1 or not command.completes:
        return
    if command.completes == "states":
        names = dict.fromkeys((*OPEN, *ENDED, *STANDING), "")
        yield from ((name, "") for name in names if name.startswith(more[0]))
        return
    states = {"live": OPEN, "ended": ENDED, "proposed": ("proposed",), "standing": STANDING}
    query = Query(states=states.get(command.completes, ()), limit=200)
    known = {view.id: f"{view.state}: {one_line(view.description)}" for view in room.engine.list(query)}
    if command.completes == "proposed":
        known |= dict.fromkeys(room.questions, "waits for a yes")
    yield from ((name, about) for name, about in known.items() if name.startswith(more[0]))
