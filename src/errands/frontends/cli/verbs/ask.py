"""ask and resume: have an agent answer a prompt in the background, and one more in the same session."""

from __future__ import annotations

import sys

from errands.frontends.cli.approval.caller import door_of, is_person
from errands.frontends.cli.display.agent_reply import converse
from errands.frontends.cli.parser import JSON, Operand, Option, Usage, Verb, whole_from_one
from errands.frontends.cli.schedule_options import PREVIEW, show_preview
from errands.frontends.cli.task_options import START, TRAITS, check_reply, start_of, traits_of
from errands.model.record import evolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments

# What makes no sense for a prompt: it is no command, and reads no input.
NOT_HERE = ("--then", "--before", "--finally", "--stdin", "--pty", "--sandbox", "--no-network")
LANE = Option(
    flags=("--lane",),
    metavar="LANE",
    help="the lane to queue in (default agent, or that of the agent's own settings)",
    completes="lanes",
)
FROZEN = (
    "what a task was launched with holds for its whole conversation; leave it out, or begin another task on "
    "a copy of the conversation: errands ask --fork ID"
)
WAIT = Option(flags=("-w", "--wait"), help="wait for the answer and print it")
QUIET = Option(flags=("-q", "--quiet"), help="print the id alone; with --wait the answer alone")


def budget(text: str) -> tuple[str, int]:
    """Read NAME=NUMBER."""
    from errands.model.options.draft import BUDGETS

    name, equals, amount = text.partition("=")
    if not equals or name not in BUDGETS:
        raise Usage(f"{text!r} is no budget; write NAME=NUMBER, with one of: {', '.join(BUDGETS)}")
    return name, whole_from_one(amount)


def ask(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    _check_resume(arguments)
    draft = evolve(
        traits_of(arguments),
        prompt=_prompt(arguments.prompt),
        agent=arguments.agent,
        model=arguments.model,
        tools=arguments.tool or None,
        fork=arguments.fork,
        budget=dict(arguments.budget),
        door=door_of(person=is_person()),
        **start_of(context, arguments),
    )
    if arguments.preview:
        return show_preview(context, arguments, draft)
    before = context.engine.clock.now()
    task_id = None if arguments.resume is None else context.engine.resolve(arguments.resume)
    view = context.engine.sessions.ask(draft, resume=task_id, is_awaited=arguments.wait)
    is_new = arguments.resume is not None or view.created_at >= before
    return converse(context, arguments, view, is_new=is_new)


def resume(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    prompt = _prompt(arguments.prompt)
    task_id = context.engine.resolve(arguments.id)
    view = context.engine.sessions.resume(task_id, prompt, is_awaited=arguments.wait)
    return converse(context, arguments, view, is_new=True)


def _check_resume(arguments: Arguments) -> None:
    """Refuse what a resume would have to ignore; that a fork is something else, the engine says."""
    if arguments.resume is None:
        return
    for option in LAUNCH:
        given = getattr(arguments, option.name)
        if option.name != "fork" and given is not None and given is not False and given != ():
            raise Usage(f"--resume does not take {option.flags[-1]}: {FROZEN}")


def _prompt(text: str) -> str:
    """Give the prompt; `-` has it read from standard input, up to the end."""
    if text != "-":
        return text
    try:
        read = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise Usage("the prompt on standard input is no text in UTF-8") from None
    if not read.strip():
        raise Usage("there is no prompt on standard input; write it there, or in the place of -")
    return read


PROMPT = Operand(
    metavar="PROMPT", help="what the agent shall do or answer, or - to read it from standard input"
)

# What a task is launched with; it holds for all its runs.
LAUNCH = (
    *(LANE if each.name == "lane" else each for each in TRAITS if each.flags[-1] not in NOT_HERE),
    *START,
    PREVIEW,
    Option(flags=("--agent",), metavar="NAME", help="who answers (default agents.default)"),
    Option(flags=("--model",), metavar="MODEL", help="the model it uses"),
    Option(flags=("--tool",), metavar="NAME", repeat=True, help="a tool it may use, and no others"),
    Option(
        flags=("--fork",),
        metavar="SESSION",
        help="begin with a copy of this conversation: a task's, or one of the agent's own",
        completes="tasks",
    ),
    Option(
        flags=("--budget",),
        metavar="NAME=NUMBER",
        convert=budget,
        repeat=True,
        help="end a run that uses more, such as requests=20 or total_tokens=50000",
    ),
)

VERBS = (
    Verb(
        name="ask",
        summary="have an agent answer a prompt in the background",
        run=ask,
        starts=True,
        details="The agent works in the directory of whoever asks. Every command it runs is judged; what "
        "needs a person waits for errands approve. Without a model the agent `offline` answers: "
        "it carries out the commands that are quoted in the prompt.",
        options=(
            *LAUNCH,
            Option(
                flags=("--resume",),
                metavar="ID",
                help="as errands resume, so without any of the above",
                completes="ended",
            ),
            WAIT,
            QUIET,
            JSON,
        ),
        operands=(PROMPT,),
        examples=(
            ("errands ask 'run `make test` and tell me what fails'", ""),
            ("errands ask --every 30m 'run `make test` and tell me what is new'", "again and again"),
            ("errands ask --on github:owner/repository 'look at what is new there'", "on an event"),
            ("errands ask --wait -q 'what does this project do?'", "print the answer"),
            ("git diff | errands ask -", "the prompt comes from standard input"),
            ("errands ask --fork why-do-7k2 'and how would you fix it?'", "on a copy of a conversation"),
        ),
    ),
    Verb(
        name="resume",
        summary="send another prompt to a completed agent task, in the same session",
        run=resume,
        starts=True,
        details="It is a new run of the same task. The agent sees the whole earlier conversation; its model, "
        "tools, directory, limits and all else are those of the launch.",
        options=(WAIT, QUIET, JSON),
        refused={flag: FROZEN for option in LAUNCH for flag in option.flags},
        operands=(Operand(metavar="ID", help="the task", completes="ended"), PROMPT),
        examples=(("errands resume why-do-7k2 'and since when?'", ""),),
    ),
)
