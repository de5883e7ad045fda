"""The command line inside a chat: a line that starts with a slash is a verb, with its own options and parser.

Two things differ from a shell. The command or prompt at the end of a line is taken as it was typed, quotes
and pipes included. And nothing may take the terminal from the person, so what waits or follows is refused.
"""

from __future__ import annotations

import io
import shlex
from contextlib import redirect_stderr, redirect_stdout

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Option, Usage, Verb, parse
from errands.frontends.cli.task_options import command_of, draft_of
from errands.frontends.cli.verbs import ALIASES, FAMILIES, NAMES, find, load
from errands.model.record import evolve, record
from errands.model.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.text import Look

VERBS = (
    "run", "ask", "resume", "propose", "restart", "ls", "show", "logs", "schedule", "sessions", "trace",
    "approve", "reject", "judge", "audit", "fire", "pause", "unpause", "cancel", "stop", "send", "clear",
    "hold", "release", "move", "edit", "lane",
    "template save", "template run", "template ls", "template show", "template rm", "config show",
    "config check", "doctor",
)  # fmt: skip
LAUNCH = ("run", "ask", "resume", "propose", "restart", "template run")
FOR_SCRIPTS = "it is for scripts"
REFUSED = {
    "wait": "the end of a task is reported here",
    "follow": "this would block the chat; look again later, or follow it in another terminal",
    "watch": "this would block the chat; look again later, or watch in another terminal",
    "raw": "it could disturb the screen; use it in another terminal",
    "quiet": FOR_SCRIPTS,
}
STDIN = ", or - to read"  # how the help of an operand goes on that may come from standard input
TAIL = 40  # lines of output, unless others are asked for
VERBATIM = ("COMMAND", "PROMPT", "TEXT")  # operands that take the rest of the line


@record
class Typed:
    """A verb and what was typed after it."""

    verb: Verb
    arguments: Arguments

    @property
    def name(self) -> str:
        return self.verb.name

    @property
    def launches(self) -> bool:
        """Whether it starts a task, rather than printing something."""
        arguments = self.arguments
        return self.name in LAUNCH and not arguments.help and not getattr(arguments, "preview", False)


class ChatLine:
    def __init__(self, context: Context) -> None:
        self._context = context

    def verbs(self) -> Mapping[str, Verb]:
        """Return the verbs that work in a chat, by name."""
        return {name: adapted(load(name)) for name in VERBS}

    def knows(self, name: str) -> bool:
        """Return whether a verb is called so, or begins so; refuse one that does not work in a chat."""
        from errands.frontends.cli.other_tools import VERBS as MEANT

        if name in NAMES or name in MEANT or name in ALIASES:
            _verb(name)
        return name in ALIASES or name in FAMILIES

    def parse(self, line: str) -> Typed:
        """Read a line without its slash."""
        verb, rest = _verb(line)
        arguments = parse(verb, words_of(verb, rest))
        if not arguments.help:
            _complete(verb, arguments)
        return Typed(verb=verb, arguments=arguments)

    def launch(self, typed: Typed, who: Mapping[str, Any]) -> View:
        """Start what was typed; `who` are fields of a draft: who starts it, and where it reports."""
        context, arguments = self._context, typed.arguments
        engine = context.engine
        if getattr(arguments, "yes", False):
            who = {**who, "consent": "yes"}
        match typed.name:
            case "resume":
                if arguments.prompt is None:
                    from errands.frontends.cli.verbs.ask import instead_of_resume

                    raise Usage(instead_of_resume(engine.view(engine.resolve(arguments.id))))
                return engine.sessions.resume(engine.resolve(arguments.id), arguments.prompt)
            case "restart":
                if len(arguments.id) != 1 or arguments.failed or arguments.batch:
                    raise Usage("in a chat one task is restarted at a time: /restart ID")
                return engine.restart(arguments.id[0], consent=who["consent"], door=who["door"])
            case "template run":
                from errands.frontends.cli.verbs.template import filled_in

                template, values, changes = filled_in(context, arguments)
                return engine.submit_template(template, values, **{**changes, **who})
            case "ask":
                from errands.frontends.cli.verbs.ask import check_resume

                check_resume(arguments)
                draft = draft_of(context, arguments, prompt=arguments.prompt, **who)
                return engine.sessions.ask(
                    draft, resume=arguments.resume and engine.resolve(arguments.resume)
                )
            case name:
                command = command_of(arguments, arguments.command)
                draft = draft_of(context, arguments, command=command, propose=name == "propose", **who)
                return engine.submit(draft)

    def printed(self, typed: Typed, look: Look) -> str:
        """Run a verb and return what it prints."""
        from errands.frontends.cli.help import verb_help

        if typed.arguments.help:
            return verb_help(typed.verb, look)
        page = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace", write_through=True)
        with redirect_stdout(page), redirect_stderr(page):
            typed.verb.run(self._context.with_look(look), typed.arguments)
        page.seek(0)
        return page.read()

    def describe(self, task_id: str, look: Look) -> list[str]:
        """Lay out what a task would do, for the person who approves it."""
        from errands.engine.approval.question_facts import facts_of
        from errands.text.question import question

        engine = self._context.engine
        return question(facts_of(engine, self._context.environ, engine.get(task_id)), look)


def _verb(line: str) -> tuple[Verb, str]:
    """Split the name of a verb off a line."""
    first, _, rest = line.strip().partition(" ")
    if first in FAMILIES:
        second, _, rest = rest.strip().partition(" ")
        first = f"{first} {second}".strip()
    name, added = find(first.split())
    rest = " ".join([*added, rest])
    if name not in VERBS:
        raise Usage(f"/{name} does not work in a chat; in a shell: errands {name}")
    return adapted(load(name)), rest


def adapted(verb: Verb) -> Verb:
    """Return a verb without the options that would block the chat, or that are for scripts."""
    left_out = {*REFUSED, "json"} if verb.name in LAUNCH else set(REFUSED)
    refused = [option for option in verb.options if option.name in left_out]
    flags = {flag: REFUSED.get(option.name, FOR_SCRIPTS) for option in refused for flag in option.flags}
    return evolve(
        verb,
        operands=tuple(evolve(each, help=each.help.partition(STDIN)[0]) for each in verb.operands),
        options=tuple(option for option in verb.options if option not in refused),
        refused={**verb.refused, **flags},
        examples=tuple(
            (command, meaning)
            for command, meaning in verb.examples
            if command.startswith("errands ") and not set(command.split()) & set(flags)
        ),
    )


def words_of(verb: Verb, text: str) -> list[str]:
    """Split what was typed after a verb; an operand that takes the rest of the line takes it as it is."""
    flags = {flag: option for option in verb.options for flag in option.flags}
    if not verb.operands or verb.operands[-1].metavar not in VERBATIM:
        return _split(text)
    found: list[str] = []
    before = len(verb.operands) - 1
    while text := text.strip():
        if text.startswith("-") and text != "-":
            flag, text = _token(text)
            found.append(flag)
            if flag == "--":
                return [*found, *_split(text)]
            if _takes_value(flags, flag) and text.strip():
                value, text = _token(text.strip())
                found.append(value)
        elif before:
            before -= 1
            operand, text = _token(text)
            found.append(operand)
        else:
            return [*found, _unquoted(text)]
    return found


def _takes_value(flags: Mapping[str, Option], word: str) -> bool:
    """Return whether the next word is the value of this one."""
    option = flags.get(word)
    return option is not None and bool(option.metavar)


def _token(text: str) -> tuple[str, str]:
    """Split the first word off a text, which may be quoted."""
    source = io.StringIO(text)
    lexer = shlex.shlex(source, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        word = lexer.get_token()
    except ValueError as error:
        raise Usage(f"cannot read {text[:80]!r}: {str(error).lower()}") from None
    return word or "", text[source.tell() :]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Usage(f"cannot read {text.strip()[:80]!r}: {str(error).lower()}") from None


def _unquoted(text: str) -> str:
    """Take a text as it is, or without the quotes around all of it."""
    if text[0] not in "'\"":
        return text
    try:
        words = shlex.split(text)
    except ValueError:
        return text
    return words[0] if len(words) == 1 else text


def _complete(verb: Verb, arguments: Arguments) -> None:
    """Set what a verb expects but cannot be typed here; refuse what would read the terminal."""
    values = arguments.__dict__
    for name in (*REFUSED, "json"):
        values.setdefault(name, False)
    if values.get("prompt") == "-":
        raise Usage("type the prompt after the command; a chat has no standard input")
    if verb.name == "send" and values["text"] is None and not values["eof"]:
        raise Usage("type the input after the id: /send ID TEXT")
    if verb.name in ("cancel", "stop"):
        values["no_wait"] = True
    if verb.name == "logs" and values["tail"] is None and values["offset"] is None:
        values["tail"] = TAIL
