"""The commands of the chat: lines that begin with a slash, and `approve` and `reject`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from errands.model.errors import BadValue, ErrandsError, NotFound
from errands.model.record import record
from errands.model.text.naming import is_id
from errands.text import did_you_mean

if TYPE_CHECKING:
    from errands.frontends.chat.chat_session import ChatSession

    # What completes the argument.
    Argument = Literal["", "tasks", "live", "ended", "proposed", "standing", "states"]

ANSWERS = ("approve", "reject")


@record
class Command:
    name: str
    usage: str
    summary: str
    run: Callable[[ChatSession, str], None]
    completes: Argument = ""


def background(session: ChatSession, rest: str) -> None:
    if not rest:
        raise BadValue("/background needs a command, such as: /background make test")
    session.start(command=rest)


def tasks(session: ChatSession, rest: str) -> None:
    session.perform("ls", *(word for state in rest.split() for word in ("--state", state)))


def show(session: ChatSession, rest: str) -> None:
    session.perform("show", _id(rest, "/status"))


def cancel(session: ChatSession, rest: str) -> None:
    view = session.engine.cancel([_id(rest, "/cancel")], by=session.who)[0]
    session.say(f"{view.id} is {'being stopped' if view.is_live else view.state}")


def approve(session: ChatSession, rest: str) -> None:
    session.answer(rest, yes=True)


def reject(session: ChatSession, rest: str) -> None:
    session.answer(rest, yes=False)


def resume(session: ChatSession, rest: str) -> None:
    task_id, _, prompt = rest.partition(" ")
    if not prompt.strip():
        raise BadValue("/resume needs a task and a prompt: /resume ID PROMPT")
    view = session.engine.sessions.resume(task_id, prompt.strip())
    session.say(f"{view.id} continues in the background  (/status {view.id})")


def logs(session: ChatSession, rest: str) -> None:
    task_id, _, count = rest.partition(" ")
    if count.strip() and not count.strip().isdecimal():
        raise BadValue(f"{count.strip()!r} is not a number of lines: /logs ID 50")
    session.perform("logs", "--tail", count.strip() or "40", _id(task_id, "/logs"))


def restart(session: ChatSession, rest: str) -> None:
    session.restart(_id(rest, "/restart"))


def schedule(session: ChatSession, rest: str) -> None:
    """List schedules, show one (ID), or start one (WHEN COMMAND)."""
    when, command = _split_when(rest)
    if not rest:
        session.perform("ls", "--state", "active", "--state", "paused")
    elif not command:
        session.perform("schedule", when)
    elif " " in when:
        session.start(command=command, cron=when)
    else:
        session.start(command=command, every=when)


def help_(session: ChatSession, rest: str) -> None:
    wide = max(len(each.usage) for each in COMMANDS)
    session.say(*(f"  {each.usage.ljust(wide)}  {each.summary}" for each in COMMANDS))
    session.say("  Anything else goes to the agent. Ctrl-C interrupts its answer, Ctrl-D leaves.")


def quit_(session: ChatSession, rest: str) -> None:
    session.is_over = True


COMMANDS = (
    Command(
        name="/background",
        usage="/background COMMAND",
        summary="run a command in the background and report its result here",
        run=background,
    ),
    Command(name="/tasks", usage="/tasks [STATE]", summary="list tasks", run=tasks, completes="states"),
    Command(
        name="/status", usage="/status ID", summary="show one task and the end of its output", run=show,
        completes="tasks",
    ),
    Command(name="/show", usage="/show ID", summary="the same", run=show, completes="tasks"),
    Command(name="/cancel", usage="/cancel ID", summary="cancel a task", run=cancel, completes="live"),
    Command(
        name="/approve", usage="/approve [ID]", summary="approve a task; `approve ID` does the same",
        run=approve, completes="proposed",
    ),
    Command(
        name="/reject", usage="/reject [ID]", summary="reject a task; `reject ID` does the same", run=reject,
        completes="proposed",
    ),
    Command(
        name="/resume", usage="/resume ID PROMPT", summary="send an agent task another prompt",
        run=resume, completes="ended",
    ),
    Command(name="/logs", usage="/logs ID [LINES]", summary="show output", run=logs, completes="tasks"),
    Command(
        name="/restart", usage="/restart ID", summary="run a finished task again", run=restart,
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
    Command(name="/quit", usage="/quit", summary="leave, like Ctrl-D", run=quit_),
)  # fmt: skip
BY_NAME = {each.name: each for each in COMMANDS}


def find_command(session: ChatSession, line: str) -> Callable[[], None] | None:
    """Return what carries out the command in a line; None if it is a message to the agent."""
    word, _, rest = line.strip().partition(" ")
    if word.startswith("/"):
        if word not in BY_NAME:
            raise BadValue(f"unknown command {word}{did_you_mean(word, BY_NAME)}; /help lists them")
    elif not (word in ANSWERS and _is_answer(session, rest.strip())):
        return None
    command = BY_NAME[f"/{word.removeprefix('/')}"]
    return lambda: command.run(session, rest.strip())


def _is_answer(session: ChatSession, rest: str) -> bool:
    """Distinguish `approve ID` from a sentence that begins so; without an id it needs an open question."""
    if not rest:
        return bool(session.questions)
    if " " in rest or not is_id(rest):
        return False
    try:
        session.engine.resolve(rest)
    except NotFound:
        return "-" in rest
    except ErrandsError:
        return True
    return True


def _id(rest: str, command: str) -> str:
    word, _, more = rest.strip().partition(" ")
    if not word:
        raise BadValue(f"{command} needs a task: {command} ID; /tasks lists them")
    if more.strip():
        raise BadValue(f"{command} takes one id; leave out {more.strip()!r}")
    return word


def _split_when(rest: str) -> tuple[str, str]:
    """Split a line after its first word or quoted text."""
    quote = rest[:1]
    if quote and quote in "'\"" and quote in rest[1:]:
        when, _, command = rest[1:].partition(quote)
    else:
        when, _, command = rest.partition(" ")
    return when.strip(), command.strip()


def completions(session: ChatSession, line: str) -> Iterator[tuple[str, str]]:
    """Yield the completions of the last word of a line, each with a short description."""
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
    known = {view.id: f"{view.state}: {one_line(view.description)}" for view in session.engine.list(query)}
    if command.completes == "proposed":
        known |= dict.fromkeys(session.questions, "waits for approval")
    yield from ((name, about) for name, about in known.items() if name.startswith(more[0]))
