"""chat: talk to an agent while tasks run in the background."""

from __future__ import annotations

from errands.frontends.cli.parser import Operand, Option, Usage, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.text import Look


def chat(context: Context, arguments: Arguments) -> int:
    import gc

    if arguments.chat and getattr(arguments, "continue"):
        raise Usage("--continue means the latest chat; give either it or a chat, not both")
    gc.enable()  # a chat runs for long
    return context.bootstrap.run_chat(
        context.engine,
        perform=_performing(context),
        describe=_describing(context),
        look=context.look,
        chat=arguments.chat,
        goes_on=getattr(arguments, "continue"),
        agent=arguments.agent,
        model=arguments.model,
    )


def _performing(context: Context) -> Callable[[Sequence[str], Look], str]:
    """Return a function that runs a verb for the chat and returns what it prints."""

    def perform(words: Sequence[str], look: Look) -> str:
        import io
        from contextlib import redirect_stderr, redirect_stdout

        from errands.frontends.cli.parser import parse
        from errands.frontends.cli.verbs import find, load

        name, rest = find(list(words))
        verb = load(name)
        page = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace", write_through=True)
        with redirect_stdout(page), redirect_stderr(page):
            verb.run(context.with_look(look), parse(verb, rest))
        page.seek(0)
        return page.read()

    return perform


def _describing(context: Context) -> Callable[[str, Look], list[str]]:
    """Return a function that lays out what a task would do, for the person who approves it."""

    def describe(task_id: str, look: Look) -> list[str]:
        from errands.frontends.cli.approval.confirm import question
        from errands.frontends.cli.approval.proposals import facts_of

        return question(facts_of(context, context.engine.get(task_id)), look)

    return describe


VERBS = (
    Verb(
        name="chat",
        summary="talk to an agent while tasks run in the background",
        run=chat,
        starts=True,
        details="The agent answers what you type; a line that starts with a slash is a command (/help lists "
        "them). Results, proposals and questions from background tasks appear above your input line, and the "
        "agent gets them with your next message. Ctrl-C interrupts an answer, Ctrl-D quits. Without a "
        "terminal, each line of input is a message or a command. See docs/chat.md.",
        options=(
            Option(flags=("--agent",), metavar="NAME", help="the agent to talk to (default agents.default)"),
            Option(flags=("--model",), metavar="MODEL", help="the model to use"),
            Option(flags=("--continue",), help="continue the latest chat"),
        ),
        operands=(Operand(metavar="CHAT", help="an earlier chat to continue", optional=True),),
        examples=(
            ("errands chat", ""),
            ("errands chat --continue", "where you left off"),
            ("echo 'run `git status`' | errands chat", "one message, without a terminal"),
        ),
    ),
)
