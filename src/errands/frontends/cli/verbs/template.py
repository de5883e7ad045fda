"""template: saved tasks with parameters, started by name."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import YES, consent_of
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, operand
from errands.frontends.cli.reply import REPLY, check_reply, reply
from errands.frontends.cli.task_options import command_of, draft_of, flags_of, given_options, options_of
from errands.model.action import quoted, written
from errands.model.errors import ErrandsError
from errands.model.options.table import BY_NAME
from errands.model.options.template import DRAFT, parameters
from errands.model.record import evolve
from errands.model.text.ids import is_id
from errands.model.text.sanitise import line
from errands.text import Cell, Column, facts, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.model.options.draft import Draft


def save(context: Context, arguments: Arguments) -> int:
    _refuse_tasks(context, arguments)
    draft = draft_of(context, arguments, command=command_of(arguments, arguments.command, place=1))
    word = "replaced" if arguments.template in context.engine.templates() else "saved"
    # A template runs in the directory it was saved in, wherever it is started.
    context.engine.save_template(arguments.template, evolve(draft, cwd=draft.cwd or context.cwd))
    takes = ", ".join(parameters(draft)) or "no parameters"
    context.say(
        f"{word} {arguments.template}, which takes {takes}  "
        f"({context.look.command('template run')} {arguments.template})"
    )
    if name := _in_single_braces(draft):
        context.note(f"{{{name}}} is passed on as it is; a parameter is written {{{{{name}}}}}")
    return 0


def _in_single_braces(draft: Draft) -> str:
    """Return the name of what was probably meant as a parameter, or an empty string."""
    import re

    found = re.search(r"(?<![${])\{([A-Za-z_]\w*)\}(?!\})", written(draft.command))
    return found[1] if found else ""


def _refuse_tasks(context: Context, arguments: Arguments) -> None:
    """Ask what is meant if the id of a task is given instead of a command, or of a name."""
    (word, *more), name = arguments.command, arguments.template
    if more or arguments.dashed is not None:
        return
    for task_id, other in ((word, name), (name, word)):
        if not is_id(task_id) or ("-" not in task_id and (task_id != word or _is_program(word))):
            continue
        try:
            view = context.engine.view(context.engine.resolve(task_id))
        except ErrandsError:
            continue
        raise Usage(
            f"{task_id} is a task. To save what it runs: errands template save {other} "
            f"{quoted(view.command)}; to save a command of that name: errands template save {name} -- {word}"
        )


def _is_program(word: str) -> bool:
    import shutil

    return shutil.which(word) is not None


def run(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    template, values, changes = filled_in(context, arguments)
    before = context.engine.clock.now()
    view = context.engine.submit_template(template, values, **changes, **consent_of(arguments))
    return reply(context, arguments, view, is_new=view.created_at >= before)


def filled_in(context: Context, arguments: Arguments) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Return which template was asked for, its parameters, and what replaces fields of its draft."""
    typed = draft_of(context, arguments, command="true")
    changes = {name: getattr(typed, name) for name in given_options(arguments)}
    return arguments.template, dict(map(_parameter, arguments.parameter)), changes


def ls(context: Context, arguments: Arguments) -> int:
    drafts = context.engine.templates()
    if arguments.json:
        for name, draft in drafts.items():
            context.print_json(_plain(name, draft))
        return 0
    if not drafts:
        context.say(
            "no templates yet; save one: " + context.look.command("template save NAME 'make {{target}}'")
        )
        return 0
    columns = (
        Column(title="TEMPLATE"),
        Column(title="PARAMETERS", flex=1),
        Column(title="COMMAND", flex=1),
    )
    rows = [
        (Cell(text=name, colour="bold"), _takes(draft), line(written(draft.command)))
        for name, draft in drafts.items()
    ]
    context.say(*table(columns, rows, context.look))
    return 0


def show(context: Context, arguments: Arguments) -> int:
    draft = context.engine.template(arguments.template)
    if arguments.json:
        context.print_json(_plain(arguments.template, draft))
        return 0
    pairs = [("parameters", _takes(draft))]
    for name, value in _plain(arguments.template, draft).items():
        if name not in ("template", "parameters") and value not in (None, [], {}, ""):
            pairs.append(("directory" if name == "cwd" else name, line(_shown(value))))
    context.say(context.look.paint(arguments.template, "bold"), *facts(pairs, context.look))
    return 0


def remove(context: Context, arguments: Arguments) -> int:
    context.engine.remove_template(arguments.template)
    context.say(f"removed {arguments.template}")
    return 0


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Usage(f"{text!r} is not a parameter; write NAME=VALUE")
    return name, value


def _takes(draft: Draft) -> str:
    return ", ".join(
        name if default is None else f"{name}={line(default)}" for name, default in parameters(draft).items()
    )


def _plain(name: str, draft: Draft) -> dict[str, Any]:
    return {"template": name, "parameters": parameters(draft), **DRAFT.encode(draft)}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={each}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return written(tuple(str(each) for each in value))
    return str(value)


TEMPLATE = operand("TEMPLATE", "the template's name", completes="templates")

VERBS = (
    Verb(
        name="template save",
        summary="save a task under a name, to start it whenever you like",
        run=save,
        usage=(
            "template save TEMPLATE [options] 'SHELL LINE'",
            "template save TEMPLATE [options] -- COMMAND [ARG...]",
        ),
        details="{{name}} in the command, the description, the directory or a variable is a parameter, "
        "{{name=default}} one with a default; in a shell line its value is quoted. An existing template of "
        "that name is replaced.",
        options=tuple(options_of("shell", start=False)),
        operands=(
            operand("TEMPLATE", "the template's name"),
            operand("COMMAND...", "what to run", completes="command"),
        ),
        examples=(("errands template save test 'pytest {{where=tests}}'", "with a parameter"),),
    ),
    Verb(
        name="template run",
        summary="start a saved task",
        run=run,
        starts=True,
        options=(*flags_of(BY_NAME["name"]), *options_of("shell", task=False), YES, *REPLY),
        operands=(
            TEMPLATE,
            operand("[PARAMETER...]", "NAME=VALUE for each parameter"),
        ),
        examples=(("errands template run test where=tests/unit", ""),),
    ),
    Verb(name="template ls", summary="list the saved tasks", run=ls, options=(JSON_FIELDS,)),
    Verb(
        name="template show",
        summary="show a saved task",
        run=show,
        options=(JSON_FIELDS,),
        operands=(TEMPLATE,),
    ),
    Verb(name="template rm", summary="remove a saved task", run=remove, operands=(TEMPLATE,)),
)
