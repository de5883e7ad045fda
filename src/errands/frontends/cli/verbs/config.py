"""config: show the configuration and where each value came from, and check it."""

from __future__ import annotations

from errands import config
from errands.config.agent_entries import agent_entries
from errands.config.channels import KINDS, kind_of
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Verb, operand
from errands.text import Cell, Column, plural, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def show(context: Context, arguments: Arguments) -> int:
    entries = list(config.entries(context.config))
    if arguments.json:
        tree: dict[str, Any] = {}
        for key, value, origin in entries:
            plain = (
                value if value is None or isinstance(value, bool | int | str) else config.written(key, value)
            )
            tree[key.path] = {"value": plain, "from": origin}
        for path, value, origin in agent_entries(context.config):
            tree[path] = {"value": value, "from": origin}
        context.print_json({"home": context.home.path, "keys": tree})
        return 0
    written = [(key.path, config.written(key, value), origin) for key, value, origin in entries]
    rows = [
        (path, value, Cell(text=origin, colour="grey" if origin == "default" else "cyan"))
        for path, value, origin in (*written, *agent_entries(context.config))
    ]
    columns = (Column(title="KEY"), Column(title="VALUE"), Column(title="FROM"))
    context.say(*table(columns, rows, context.look))
    context.say("", f"home: {context.home.path}", f"your file: {config.user_file(context.environ)}")
    return 0


def check(context: Context, arguments: Arguments) -> int:
    context.ignore_problems()
    if arguments.file is not None:
        found = list(config.check_file(arguments.file))
        checked = arguments.file
    else:
        _, problems = config.inspect(context.cwd, context.environ, thorough=True)
        found = [*problems, *_unknown_kinds(context)]
        checked = " and ".join(_sources(context))
    warnings = [] if arguments.file is not None else list(config.unknown_variables(context.environ))
    if arguments.json:
        for problem in found:
            context.print_json(_problem(problem, "error"))
        for problem in warnings:
            context.print_json(_problem(problem, "warning"))
        return 1 if found else 0
    for problem in found:
        context.say(f"{context.look.paint(context.look.sign('✗', 'x'), 'red')} {problem}")
    for problem in warnings:
        context.say(f"{context.look.paint('!', 'yellow')} {problem}")
    if found:
        where = ", ".join(dict.fromkeys(problem.source for problem in found))
        context.say(f"{plural(len(found), 'problem')} in {where}")
        return 1
    verdict = f"no errors, {plural(len(warnings), 'warning')}" if warnings else "no problems"
    context.say(f"{context.look.paint(context.look.sign('✓', 'ok'), 'green')} {verdict} in {checked}")
    return 0


def _unknown_kinds(context: Context) -> Iterator[config.Problem]:
    """Yield the channels of a kind that neither we nor a plugin have: the configuration knows no plugins."""
    channels = context.config.channels
    for name in channels:
        if kind_of(name, channels) not in KINDS and (
            trouble := context.bootstrap.channel_trouble(name, context.config)
        ):
            source = config.user_file(context.environ)
            yield config.Problem(source=source, key=f"channels.{name}", advice=trouble)


def _sources(context: Context) -> Iterator[str]:
    import os

    user, project = config.user_file(context.environ), config.project_file(context.cwd)
    if os.path.isfile(user):
        yield user
    if project is not None:
        yield project
    is_alone = project is None and not os.path.isfile(user)
    yield "the environment" + (" (no configuration file)" if is_alone else "")


def _problem(problem: config.Problem, level: str) -> dict[str, str]:
    return {"level": level, "source": problem.source, "key": problem.key, "advice": problem.advice}


VERBS = (
    Verb(
        name="config show",
        summary="print every setting, its value and where it came from",
        run=show,
        fields=("home", "keys"),
        options=(JSON_FIELDS,),
    ),
    Verb(
        name="config check",
        summary="check the configuration; exits with 1 if something is wrong",
        run=check,
        fields=("level", "source", "key", "advice"),
        options=(JSON_FIELDS,),
        operands=(
            operand("[FILE]", "check this file instead of the active configuration", completes="files"),
        ),
    ),
)
