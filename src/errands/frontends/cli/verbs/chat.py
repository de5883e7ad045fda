"""chat: talk to an agent while tasks run in the background."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Usage, Verb, operand, option


def chat(context: Context, arguments: Arguments) -> int:
    import gc

    from errands.frontends.cli.chat_line import ChatLine

    if arguments.chat and getattr(arguments, "continue"):
        raise Usage("--continue means the latest chat; give either it or a chat, not both")
    gc.enable()  # a chat runs for long
    return context.bootstrap.run_chat(
        context.engine,
        line=ChatLine(context),
        look=context.look,
        chat=arguments.chat,
        goes_on=getattr(arguments, "continue"),
        agent=arguments.agent,
        model=arguments.model,
    )


VERBS = (
    Verb(
        name="chat",
        summary="talk to an agent while tasks run in the background",
        run=chat,
        starts=True,
        details="The agent answers what you type; a line that starts with a slash is a command (/help lists "
        "them). Results, proposals and questions from background tasks appear above your input line, and the "
        "agent gets them with your next message. Ctrl-C interrupts an answer, Ctrl-D quits. Without a "
        "terminal, each line of input is a message or a command. See docs/how-to/chat.md.",
        options=(
            option("--agent NAME", "the agent to talk to (default agents.default)"),
            option("--model MODEL", "the model to use"),
            option("--continue", "continue the latest chat"),
        ),
        operands=(operand("[CHAT]", "an earlier chat to continue"),),
        examples=(
            ("errands chat", ""),
            ("errands chat --continue", "where you left off"),
            ("echo 'run `git status`' | errands chat", "one message, without a terminal"),
        ),
    ),
)
