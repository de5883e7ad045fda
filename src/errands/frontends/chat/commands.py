"""The commands of the chat: the verbs of the command line after a slash, and what only a chat has.

`approve`, `reject`, `exit` and `quit` work without the slash, too; `y` and `n` answer the question that the
input line names.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Literal

from errands.dialects.claude import listed
from errands.dialects.projections import CLAUDE, CLAUDE_TYPES, claude, claude_type
from errands.engine.engine import Engine
from errands.frontends.chat.chat_session import ChatSession
from errands.model.agent.session import is_conversation
from errands.model.errors import BadValue, ErrandsError, NotFound
from errands.model.record import record
from errands.model.states import EVERY_STATE
from errands.model.text.ids import is_id
from errands.ports.store import Query
from errands.text import did_you_mean, facts

# What completes the argument.
Argument = Literal["", "tasks", "live", "open", "ended", "proposed", "standing", "statuses"]

ANSWERS = ("approve", "reject")
LEAVING = ("exit", "quit")  # alone on a line
NOTHING = "No background tasks."
SHOWN = 50
WIDE = 70
STATUSES = tuple(dict.fromkeys((*CLAUDE, *EVERY_STATE)))
TYPES = (*CLAUDE_TYPES, "shell")  # `shell` is our own word for bash


@record
class Command:
    name: str
    usage: str
    summary: str
    run: Callable[[ChatSession, str], None]
    completes: Argument = ""


def background(session: ChatSession, rest: str) -> None:
    session.perform(f"run {rest}")


def tasks(session: ChatSession, rest: str) -> None:
    session.say(*task_list(session.engine, rest))


def task_list(engine: Engine, words: str) -> list[str]:
    """List tasks in the words and with the icons of Claude Code, newest first.

    `words` are statuses and types; a task has one of each. The states of `errands ls` work, too.
    """
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
    shown = views[:SHOWN]
    lines = [engine.mask(view.id).text(each) for view, each in zip(shown, listed(shown, now), strict=True)]
    if len(views) > SHOWN:
        lines.append(f"[{len(views) - SHOWN} older ones are left out; name a status or a type]")
    return ["Background Tasks:", rule, *lines, rule, "/show ID shows one, /logs ID its output."]


def status(session: ChatSession, rest: str) -> None:
    session.perform(f"show {rest}")


def fork(session: ChatSession, rest: str) -> None:
    """Start an agent on a copy of this conversation; options come first, as in /ask."""
    conversation = session.engine.id_by_key(session.name)
    if conversation is None:
        raise BadValue("there is nothing to fork yet; say something to the agent first")
    session.perform(f"ask --fork {conversation} {rest}")


def schedule(session: ChatSession, rest: str) -> None:
    """List schedules, show one (ID), or start one (WHEN COMMAND)."""
    when, command = _split_when(rest)
    if not rest:
        session.perform("ls --state active --state paused")
    elif not command:
        session.perform(f"schedule {rest}")
    else:
        session.perform(f"run {'--cron' if ' ' in when else '--every'} {shlex.quote(when)} {command}")


def approve(session: ChatSession, rest: str) -> None:
    _answer(session, "approve", rest)


def reject(session: ChatSession, rest: str) -> None:
    _answer(session, "reject", rest)


def _answer(session: ChatSession, verb: str, rest: str) -> None:
    if rest:
        session.perform(f"{verb} {rest}")
    else:
        session.questions.answer("", yes=verb == "approve")


def help_(session: ChatSession, rest: str) -> None:
    if rest:
        session.perform(f"{rest.removeprefix('/')} --help")
        return
    verbs = session.line.verbs()
    rows = [(each.usage, each.summary) for each in COMMANDS]
    rows += [(f"/{name} ...", verb.summary) for name, verb in verbs.items() if f"/{name}" not in BY_NAME]
    session.say(*facts(rows, session.output.look))
    session.say(
        "  /help run, or /run --help, shows the options of a command; they are those of `errands run`."
    )
    session.say("  Anything else goes to the agent. Ctrl-C interrupts its answer, Ctrl-D leaves.")


def quit_(session: ChatSession, rest: str) -> None:
    session.is_over = True


COMMANDS = (
    Command(
        name="/background", usage="/background COMMAND", run=background,
        summary="run a command in the background and report its result here; the same as /run",
    ),
    Command(
        name="/tasks", usage="/tasks [STATUS] [TYPE]", run=tasks, completes="statuses",
        summary="list tasks, such as those that are running, or of the type bash or agent",
    ),
    Command(
        name="/status", usage="/status ID", run=status, completes="tasks",
        summary="show a task and the end of its output; the same as /show",
    ),
    Command(
        name="/fork", usage="/fork PROMPT", run=fork,
        summary="let an agent work in the background on a copy of this conversation",
    ),
    Command(
        name="/schedule", usage="/schedule [ID | WHEN COMMAND]", run=schedule,
        summary="list schedules, show one, or start one: /schedule 30m make, /schedule '@daily' make",
        completes="standing",
    ),
    Command(
        name="/approve", usage="/approve [ID]", run=approve, completes="proposed",
        summary="approve a task; `y` answers the question that the input line names",
    ),
    Command(
        name="/reject", usage="/reject [ID]", run=reject, completes="proposed",
        summary="reject a task; so does `n`",
    ),
    Command(
        name="/help", usage="/help [COMMAND]", run=help_, summary="show this, or the options of a command",
    ),
    Command(name="/quit", usage="/quit", summary="leave, like Ctrl-D and /exit", run=quit_),
)  # fmt: skip
BY_NAME = {each.name: each for each in COMMANDS}
BY_NAME["/exit"] = BY_NAME["/quit"]


def find_command(session: ChatSession, line: str) -> Callable[[], None] | None:
    """Return what carries out the command in a line; None if it is a message to the agent."""
    word, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    if not word.startswith("/"):
        if not (word in ANSWERS and _is_answer(session, rest)) and not (word in LEAVING and not rest):
            return None
        word = f"/{word}"
    command = BY_NAME.get(word)
    if command is not None and rest in ("-h", "--help"):
        return lambda: session.say(f"{command.usage}: {command.summary}")
    if command is not None:
        return lambda: command.run(session, rest)
    names = (*BY_NAME, *(f"/{name}" for name in session.line.verbs()))
    is_known = word in names or any(name.startswith(f"{word} ") for name in names)
    if not is_known and not session.line.knows(word[1:]):
        raise BadValue(f"unknown command {word}{did_you_mean(word, names)}; /help lists them")
    return lambda: session.perform(line.strip()[1:])


def _is_answer(session: ChatSession, rest: str) -> bool:
    """Tell `approve ID` from a sentence that begins the same way; without an id, a question must be open."""
    if not rest:
        return bool(session.questions.open)
    if " " in rest or not is_id(rest):
        return False
    try:
        session.engine.resolve(rest)
    except NotFound:
        return "-" in rest
    except ErrandsError:
        return True
    return True


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
    verbs = session.line.verbs()
    first, *more = line.split(" ")
    if not more:
        names = {f"/{name}": verb.summary for name, verb in verbs.items() if " " not in name}
        names |= {each.name: each.summary for each in COMMANDS} | dict.fromkeys(ANSWERS, "answer a question")
        yield from ((name, about) for name, about in names.items() if line and name.startswith(line))
        return
    name = first if first.startswith("/") else f"/{first}"
    if name[1:] in verbs and more[-1].startswith("-"):
        for option in verbs[name[1:]].options:
            yield from ((flag, option.help) for flag in option.flags if flag.startswith(more[-1]))
        return
    command, verb = BY_NAME.get(name), verbs.get(name[1:])
    completes = command.completes if command else verb.operands[0].completes if verb and verb.operands else ""
    if completes == "statuses":
        yield from ((each, "") for each in (*STATUSES, *TYPES) if each.startswith(more[-1]))
    elif len([word for word in more if not word.startswith("-")]) == 1:
        yield from _ids(session, completes, more[-1])


def _ids(session: ChatSession, completes: str, begun: str) -> Iterator[tuple[str, str]]:
    from errands.model.states import ENDED, OPEN, STANDING
    from errands.model.text.sanitise import line as one_line
    from errands.ports.store import Query

    states = {
        "tasks": (),
        "live": OPEN,
        "open": (*OPEN, *STANDING),
        "ended": ENDED,
        "proposed": ("proposed",),
        "standing": STANDING,
    }
    if completes not in states:
        return
    views = session.engine.list(Query(states=states[completes], limit=200))
    known = {view.id: f"{view.state}: {one_line(view.description)}" for view in views}
    if completes == "proposed":
        known |= dict.fromkeys(session.questions.open, "waits for approval")
    yield from ((name, about) for name, about in known.items() if name.startswith(begun))
