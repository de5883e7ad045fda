"""Starting: the options that describe a task, and what is said when it has started."""

from __future__ import annotations

from errands.frontends.cli.display.format import now, waits_for
from errands.frontends.cli.parser import JSON, Option, Usage, whole_from_one
from errands.frontends.cli.schedule_options import EVENT, SCHEDULE, say_standing, schedule_of, start_time
from errands.model.notices.notice import POLICIES, parse_address
from errands.model.options.draft import UNLIMITED, Draft
from errands.model.record import evolve
from errands.model.task import PRIORITIES
from errands.model.text.duration import parse_duration, parse_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import timedelta

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.action import Command, Input
    from errands.model.view import View

# How long to look whether a task starts at once, before saying that it waits.
AT_ONCE = 0.1
NOT_APPROVED = 4


def variable(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Usage(f"{text!r} is no variable; write NAME=VALUE")
    return name, value


def longest(text: str) -> timedelta:
    """Read a limit of time; `none` takes back the one of the configuration."""
    return UNLIMITED if text == "none" else parse_duration(text)


def most(text: str) -> int:
    """Read a limit of memory; `none` takes back the one of the configuration."""
    if text != "none" and not (size := parse_size(text)):
        raise Usage("0 is too little; write none for no limit")
    return 0 if text == "none" else size


def most_processes(text: str) -> int:
    """Read a limit of processes; `none` takes back the one of the configuration."""
    return 0 if text == "none" else whole_from_one(text)


def channel(text: str) -> str:
    """Read NAME or NAME:TARGET."""
    return str(parse_address(text))


NAME = Option(flags=("--name",), metavar="NAME", help="the readable part of the id")

# What makes a task, in `run` and in a template alike.
TRAITS = (
    NAME,
    Option(flags=("--description",), metavar="TEXT", help="what it is for"),
    Option(flags=("--cwd",), metavar="DIR", help="run there instead of here", completes="directories"),
    Option(
        flags=("--env",),
        metavar="NAME=VALUE",
        convert=variable,
        repeat=True,
        help="add a variable to the environment",
    ),
    Option(flags=("--lane",), metavar="LANE", help="the lane to queue in (default shell)", completes="lanes"),
    Option(
        flags=("--priority",),
        metavar="PRIORITY",
        choices=PRIORITIES,
        help="its place in the lane's queue (default normal)",
    ),
    Option(flags=("--batch",), metavar="NAME", help="a label shared with other tasks", completes="batches"),
    Option(
        flags=("--then",), metavar="LINE", repeat=True, help="a command to run next, if all before it succeed"
    ),
    Option(flags=("--before",), metavar="LINE", repeat=True, help="a hook: a command to run first"),
    Option(
        flags=("--finally",), metavar="LINE", repeat=True, help="a hook: a command to run last, in any case"
    ),
    Option(
        flags=("--timeout",),
        metavar="DURATION",
        convert=longest,
        help="stop a run that takes longer; none: no limit",
    ),
    Option(
        flags=("--idle-timeout",),
        metavar="DURATION",
        convert=longest,
        help="stop a run that prints nothing for so long",
    ),
    Option(
        flags=("--on-idle",),
        metavar="WHAT",
        choices=("stop", "report"),
        help="what happens at the idle time-out (default stop)",
    ),
    Option(
        flags=("--grace",),
        metavar="DURATION",
        convert=parse_duration,
        help="how long it may take to end after SIGTERM",
    ),
    Option(flags=("--memory",), metavar="SIZE", convert=most, help="stop a run that uses more"),
    Option(flags=("--cpu",), metavar="DURATION", convert=longest, help="stop a run that computes longer"),
    Option(
        flags=("--processes",), metavar="N", convert=most_processes, help="stop a run with more processes"
    ),
    Option(flags=("--output-cap",), metavar="SIZE", convert=parse_size, help="how much output is kept"),
    Option(
        flags=("--stdin",), help="keep its input open for errands send; with --wait it gets standard input"
    ),
    Option(flags=("--pty",), help="give it a pseudo-terminal, with input as above"),
    Option(
        flags=("--sandbox",),
        help="let it write to its project and nowhere else, and see no secrets (needs bubblewrap)",
    ),
    Option(flags=("--no-network",), help="a sandbox without a network"),
    Option(
        flags=("--notify",),
        metavar="WHEN",
        choices=POLICIES,
        help="which endings are told (default always, or notices.policy; of a schedule what is new)",
    ),
    Option(
        flags=("--channel",),
        metavar="NAME[:TARGET]",
        convert=channel,
        repeat=True,
        help="where it reports beside the inbox (default $ERRANDS_CHANNEL or notices.channels); or none",
        completes="channels",
    ),
    *SCHEDULE,
    *EVENT,
)

# What belongs to one start.
START = (
    Option(
        flags=("--after",),
        metavar="ID",
        repeat=True,
        help="start when this task has completed; skip it if that fails",
        completes="tasks",
    ),
    Option(flags=("--at",), metavar="TIME", help="start then: 18:30, 'tomorrow 9:00', 2026-12-24T18:00, +2h"),
    Option(flags=("--key",), metavar="KEY", help="a second start with this key gives the first task"),
)

# What whoever starts a task does then.
REPLY = (
    Option(flags=("-w", "--wait"), help="show its output and leave with its exit code"),
    Option(flags=("--raw",), help="with --wait: the bytes as they are, nothing masked or taken out"),
    Option(flags=("-q", "--quiet"), help="print the id alone; with --wait the output alone"),
    JSON,
)


def command_of(arguments: Arguments, words: tuple[str, ...], *, place: int = 0) -> Command:
    """Take the operands from `place` on for a command: one word is a shell line, several are words."""
    if arguments.dashed is not None or len(words) > 1:
        for flag, operands in arguments.trailing:
            if operands > place:
                raise Usage(
                    f"is {flag} for errands or for {words[0]}? Put errands' options first, "
                    f"then -- and the command: errands run {flag} ... -- {words[0]} ..."
                )
        return words
    return words[0]


def draft_of(arguments: Arguments, command: Command) -> Draft:
    """Make a draft of what was asked for; what was not said is left to the configuration."""
    if arguments.stdin and arguments.pty:
        raise Usage("--pty includes --stdin; give one of them")
    kind: Input = "pty" if arguments.pty else "pipe" if arguments.stdin else "none"
    return evolve(
        traits_of(arguments),
        command=command,
        then=arguments.then,
        before=arguments.before,
        lastly=arguments.__dict__["finally"],
        input=kind,
        sandbox="network" if arguments.no_network else "files" if arguments.sandbox else "none",
    )


def traits_of(arguments: Arguments) -> Draft:
    """Make the part of a draft that commands and prompts have in common."""
    return Draft(
        name=arguments.name,
        description=arguments.description,
        cwd=_directory(arguments.cwd),
        env=dict(arguments.env),
        lane=arguments.lane,
        priority=arguments.priority or "normal",
        batch=arguments.batch,
        notify=arguments.notify,
        channels=arguments.channel or None,
        timeout=arguments.timeout,
        idle=arguments.idle_timeout,
        on_idle=arguments.on_idle,
        grace=arguments.grace,
        memory=arguments.memory,
        cpu=arguments.cpu,
        processes=arguments.processes,
        output=arguments.output_cap,
        **schedule_of(arguments),
    )


def start_of(context: Context, arguments: Arguments) -> dict[str, object]:
    """The fields of a draft that belong to one start."""
    _check_directory(arguments)
    at, moment = None, now()
    if arguments.at is not None:
        at = start_time(arguments)
        if at < moment and not arguments.quiet:
            context.note(f"--at {arguments.at}: that time has passed; it starts now")
    return {"after": arguments.after, "at": at, "key": arguments.key}


def _check_directory(arguments: Arguments) -> None:
    """Refuse a directory that is not there, unless a task that comes first may make it."""
    import os

    given = _directory(getattr(arguments, "cwd", None))
    if given is not None and not arguments.after and not os.path.isdir(given):
        raise Usage(f"--cwd: there is no directory {given}; make it first, or in a task that --after names")


def check_reply(arguments: Arguments) -> None:
    """Refuse what excludes each other, before anything has started."""
    if getattr(arguments, "raw", False) and (arguments.json or not arguments.wait):
        raise Usage("--raw is about the output that --wait shows; give it with --wait, without --json")
    if arguments.wait and any(getattr(arguments, each, None) for each in ("every", "cron", "on")):
        raise Usage(
            "what runs again and again has no end to wait for; "
            "leave out --wait, or run it now: errands fire ID --wait"
        )
    if arguments.json and arguments.quiet:
        raise Usage("--json and --quiet exclude each other; give one of them")


def reply(context: Context, arguments: Arguments, view: View, *, is_new: bool = True) -> int:
    """Say that a task has started, or stay with it until it ends; first ask, if it needs a yes."""
    if view.state in ("proposed", "rejected"):
        from errands.frontends.cli.approval.proposals import settled

        answered = settled(context, arguments, view, is_new=is_new)
        if answered is None:
            return NOT_APPROVED
        view = answered
    if arguments.wait and view.standing is None:
        from errands.frontends.cli.live.attach import attend

        return attend(context, arguments, view, is_new=is_new)
    if arguments.json:
        context.tell_view(view)
    elif arguments.quiet:
        context.say(view.id)
    elif not is_new:
        context.say(f"{view.id} is there already, {view.state}  (errands show {view.id})")
    elif view.standing is not None:
        say_standing(context, view)
    else:
        _say_started(context, view)
    return 0


def _say_started(context: Context, view: View) -> None:
    from errands.frontends.cli.live.follow import wait_for_start

    view = wait_for_start(context, view, AT_ONCE)
    name = context.look.paint(view.id, "bold")
    match view.latest.state:
        case "pending":
            if view.waits:
                view = context.engine.get(view.id)
            said = f"queued {name}: {waits_for(view, at=now())}  (errands show {view.id}; {_told_by(view)})"
        case "running":
            said = f"started {name}  (errands logs -f {view.id}; {_told_by(view)})"
        case "skipped":
            said = f"skipped {name}: {view.latest.error}  (errands show {view.id})"
        case state:
            said = f"started {name}  ({state} already; errands show {view.id})"
    context.say(said)


def _told_by(view: View) -> str:
    """Who tells the end of a task, honestly."""
    channels = dict.fromkeys(each.channel for each in view.channels)
    tellers = " and ".join([*channels, "errands notices"]) + (" tell" if channels else " tells")
    match view.notify:
        case "never":
            return f"errands wait {view.id} tells when it ends"
        case "on_failure":
            return f"{tellers} if it fails"
        case _:
            return f"{tellers} when it ends"


def _directory(given: str | None) -> str | None:
    import os

    try:
        here = os.getcwd()
    except FileNotFoundError:
        if given is None or not os.path.isabs(os.path.expanduser(given)):
            raise Usage("the current directory is gone; cd somewhere else, or give --cwd") from None
        here = "/"
    return None if given is None else os.path.normpath(os.path.join(here, os.path.expanduser(given)))
