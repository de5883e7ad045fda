"""ask and resume: send an agent a prompt in the background, and another one in the same session."""

from __future__ import annotations

import sys

from errands.frontends.cli.approval.caller import door_of, is_person
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_TASKS, Arguments, Usage, Verb, operand, option
from errands.frontends.cli.reply import check_reply, reply, start
from errands.frontends.cli.task_options import KEEP_ON, PREVIEW, draft_of, options_of
from errands.model.errors import UnknownTask
from errands.model.options.draft import Draft
from errands.model.view import AgentView, View, exit_code
from errands.text.describe import ending_line, now, state_word

FROZEN = (
    "the options of a task hold for its whole conversation; leave it out, or start another task on "
    "a copy of the conversation: errands ask --fork ID"
)
WAIT = option("-w, --wait", "wait for the answer and print it")
QUIET = option("-q, --quiet", "print only the id; with --wait only the answer")


def ask(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    check_resume(arguments)
    prompt = _prompt(arguments.prompt)
    door = door_of(person=is_person())
    draft = draft_of(context, arguments, prompt=prompt, door=door, is_awaited=arguments.wait)

    def submit(draft: Draft) -> View:
        return context.engine.sessions.ask(draft, resume=arguments.resume)

    return start(context, arguments, draft, submit, _report)


def resume(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    try:
        task_id = context.engine.resolve(arguments.id)
    except UnknownTask:
        from errands.frontends.cli.targets import fleet_tasks

        fleet = fleet_tasks(context, UnknownTask(f"Task not found: {arguments.id}"))
        if arguments.prompt is None:
            raise Usage(
                f"resume needs a PROMPT for the agent: errands resume {arguments.id} 'and then?'"
            ) from None
        return fleet.resume(arguments.id, _prompt(arguments.prompt), arguments)
    if arguments.prompt is None:
        raise Usage(instead_of_resume(context.engine.view(task_id)))
    prompt = _prompt(arguments.prompt)
    view = context.engine.sessions.resume(arguments.id, prompt, is_awaited=arguments.wait)
    return _report(context, arguments, view, is_new=True)


def instead_of_resume(view: View) -> str:
    """Return what to type instead of a resume without a prompt, which other tools continue tasks with."""
    if view.agent is not None:
        return f"resume needs a PROMPT for the agent: errands resume {view.id} 'and then?'"
    if view.state == "paused" or view.is_paused or view.is_held:
        way = f"errands unpause {view.id} continues it"
    elif view.is_open:
        way = f"it is {state_word(view)} and needs no resume"
    else:
        way = f"errands restart {view.id} runs it again"
    return f"resume sends an agent another prompt, and {view.id} is a command; {way}"


def check_resume(arguments: Arguments) -> None:
    """Refuse options that a resume would ignore; the engine refuses a fork itself."""
    if arguments.resume is None:
        return
    for each in LAUNCH:
        if each.name != "fork" and getattr(arguments, each.name) not in (None, False, ()):
            raise Usage(f"--resume does not take {each.flags[-1]}: {FROZEN}")


def _prompt(text: str) -> str:
    """Return the prompt; `-` means all of standard input."""
    if text != "-":
        return text
    try:
        read = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise Usage("the prompt on standard input is not text in UTF-8") from None
    if not read.strip():
        raise Usage("standard input is empty; write the prompt to it, or give the prompt instead of -")
    return read.rstrip("\n")


def _report(context: Context, arguments: Arguments, view: View, *, is_new: bool) -> int:
    """Report that an agent was asked; with --wait, wait for its answer and print it."""
    if not arguments.wait:
        code = reply(context, arguments, view, is_new=is_new)
        if view.agent is not None and not (arguments.quiet or arguments.json):
            _note_no_model(context, view.agent)
        return code
    from errands.frontends.cli.live.follow import wait_for

    run_id = view.latest.id
    try:
        if not arguments.quiet and not arguments.json:
            context.note(f"asked {view.id}  (Ctrl-C leaves it running)")
        wait_for(context, [view.id])
    except KeyboardInterrupt:
        # The caller no longer waits, so the answer becomes a notice.
        context.engine.sessions.give_up_waiting(run_id)
        context.note_interrupted(f"{view.id} continues in the background: errands show {view.id}")
        return 130
    view = context.engine.get(view.id)
    context.mark_shown(view)
    _print_answer(context, arguments, view)
    return exit_code(view)


def _note_no_model(context: Context, agent: AgentView) -> None:
    """Say so at once if the agent has no model, and can only run what the prompt quotes."""
    from errands.dialects.completion import NO_MODEL, OFFLINE

    if agent.name == OFFLINE:
        context.note(f"{OFFLINE} answers it. {NO_MODEL}")


def _print_answer(context: Context, arguments: Arguments, view: View) -> None:
    from errands.frontends.cli.live.output_filter import clean_text

    if arguments.json:
        context.print_view(view)
        return
    answer = view.agent.answer if view.agent else None
    if answer:
        context.say(clean_text(context, view, answer).rstrip("\n"))
    if view.state != "completed":
        context.note(ending_line(view, context.error_look, at=now()))


PROMPT = operand("PROMPT", "what the agent should do or answer, or - to read it from standard input")

# The options of a task; they hold for all its runs.
LAUNCH = (*options_of("agent"), KEEP_ON, PREVIEW)

VERBS = (
    Verb(
        name="ask",
        summary="send an agent a prompt to answer in the background",
        run=ask,
        starts=True,
        details="The agent works in your directory. Every command it runs is judged; one that needs approval "
        "waits for errands approve. Without a configured model the agent `offline` answers: it runs the "
        "commands that are quoted in the prompt.",
        options=(
            *LAUNCH,
            option(
                "--resume ID",
                "the same as errands resume; takes none of the options above",
                completes="ended",
            ),
            WAIT,
            QUIET,
            JSON_TASKS,
        ),
        operands=(PROMPT,),
        examples=(
            ("errands ask 'run `make test` and tell me what fails'", ""),
            ("errands ask --every 30m 'run `make test` and tell me what is new'", "every half hour"),
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
        "tools, directory, limits and everything else stay as they were at the launch.",
        options=(WAIT, QUIET, JSON_TASKS),
        refused={flag: FROZEN for option in LAUNCH for flag in option.flags},
        operands=(
            operand("ID", "the task", completes="ended"),
            operand("[PROMPT]", PROMPT.help),
        ),
        usage=("resume [options] ID PROMPT",),
        examples=(("errands resume why-do-7k2 'and since when?'", ""),),
    ),
)
