"""chat: talk with an agent, while tasks run in the background and speak up."""

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
        raise Usage("--continue is for the latest chat; leave it out, or the name")
    gc.enable()  # whoever talks is no short command
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
    """Give what carries out a verb for a chat; all it prints is what the chat says."""

    def perform(words: Sequence[str], look: Look) -> str:
        import io
        from contextlib import redirect_stderr, redirect_stdout

        from errands.frontends.cli.parser import parse
        from errands.frontends.cli.verbs import find, load

        name, rest = find(list(words))
        verb = load(name)
        page = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace", write_through=True)
        with redirect_stdout(page), redirect_stderr(page):
            verb.run(context.seen_as(look), parse(verb, rest))
        page.seek(0)
        return page.read()

    return perform


def _describing(context: Context) -> Callable[[str, Look], list[str]]:
    """Give what lays out all that a task would do, for a person who is to say yes."""

    def describe(task_id: str, look: Look) -> list[str]:
        from errands.frontends.cli.approval.confirm import question
        from errands.frontends.cli.approval.proposals import facts_of

        return question(facts_of(context, context.engine.get(task_id)), look)

    return describe


VERBS = (
    Verb(
        name="chat",
        summary="talk with an agent, while tasks run in the background and speak up",
        run=chat,
        starts=True,
        details="What you type is answered by the agent; what begins with a slash is a command: /help lists "
        "them. Ends, proposals and questions of what runs in the background are shown above the line you "
        "type, and told to the agent with your next message. Ctrl-C interrupts an answer, Ctrl-D leaves. "
        "Without a terminal each line of the input is a message or a command. See docs/chat.md.",
        options=(
            Option(flags=("--agent",), metavar="NAME", help="who answers (default agents.default)"),
            Option(flags=("--model",), metavar="MODEL", help="the model it uses"),
            Option(flags=("--continue",), help="go on with the latest chat"),
        ),
        operands=(Operand(metavar="CHAT", help="an earlier chat to go on with", optional=True),),
        examples=(
            ("errands chat", ""),
            ("errands chat --continue", "where you left"),
            ("echo 'run `git status`' | errands chat", "one message, without a terminal"),
        ),
    ),
)
