"""install: Errands as tools of the program that an agent works in; uninstall: out of it again."""

from __future__ import annotations

from errands.frontends.cli.asking import answered, visible
from errands.frontends.cli.door import is_person
from errands.frontends.cli.options import Operand, Option, Usage, Verb
from errands.model.errors import ErrandsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context, Installation
    from errands.frontends.cli.options import Arguments
    from errands.text import Colour

CLIENTS = ("claude", "opencode", "codex", "cursor", "gemini", "vscode")
_COLOURS: dict[str, Colour] = {"+": "green", "-": "red", "@": "cyan"}


def install(context: Context, arguments: Arguments) -> int:
    made = _installation(context, arguments, arguments.dialect)
    if arguments.print:
        for path, text in made.snippets():
            context.say(context.look.paint(f"# {path}", "dim"), text, "")
        return 0
    if made.missing:
        raise ErrandsError(
            f"nothing was written: the server that {made.title} would start needs one package more, "
            f"which is missing here; first type: {made.missing}"
        )
    return 0 if _changed(context, arguments, made, removing=False) else 4


def uninstall(context: Context, arguments: Arguments) -> int:
    made = _installation(context, arguments, None)
    return 0 if _changed(context, arguments, made, removing=True) else 4


def _installation(context: Context, arguments: Arguments, dialect: str | None) -> Installation:
    if arguments.project and arguments.user:
        raise Usage("give --project or --user, not both")
    if dialect is not None:
        from errands.dialects import named

        named(dialect)  # it must exist
    project = context.cwd if arguments.project else None
    return context.bootstrap.installation(
        arguments.client, environ=context.environ, project=project, dialect=dialect
    )


def _changed(context: Context, arguments: Arguments, made: Installation, *, removing: bool) -> bool:
    """Show what would change, ask, and do it; False when a person said no."""
    changes = made.plan(removing=removing)
    if not changes:
        context.say("nothing to do: it is not there" if removing else "nothing to do: it is there already")
        made.carry_out()
        return True
    for _, lines in changes:
        for line in lines:
            context.say(context.look.paint(visible(line), _COLOURS.get(line[:1], "")))
    if not arguments.yes:
        if not is_person():
            raise Usage(
                "nobody is there to be asked, and nothing was written; pass --yes"
                + ("" if removing else ", or see --print")
            )
        if not answered(f"Change {len(changes)} file{'s' * (len(changes) > 1)}? [y/N] "):
            context.note("nothing was written")
            return False
    made.carry_out()
    if removing:
        context.say(f"Errands is no part of {made.title} any more.")
    else:
        context.say(f"Errands is part of {made.title} from its next start on; {made.told}.")
    return True


_CLIENT = Operand(metavar="CLIENT", help="the program", choices=CLIENTS)
_WHERE = (
    Option(flags=("--user",), help="for all your projects, which is the default"),
    Option(flags=("--project",), help="for the project in this directory alone"),
)
_YES = Option(flags=("-y", "--yes"), help="write without asking; the changes are shown all the same")

VERBS = (
    Verb(
        name="install",
        summary="give the agents of a program background tasks: write its configuration",
        run=install,
        details="Shows every change and asks before it writes. What else stands in the files stays as it is, "
        "comments included; a file that cannot be read is left alone. Claude Code also gets two commands, "
        "/background and /tasks, a skill, and hooks that wake it when a task ends; OpenCode gets a plugin "
        "that reports each end. Without the package that the server needs nothing is written, and --print "
        "prints all the same. See docs/clients.md.",
        options=(
            *_WHERE,
            Option(
                flags=("--dialect",),
                metavar="NAME",
                help="the words of the tools; by default those that the program's agents know",
            ),
            Option(flags=("--print",), help="only print what belongs into which file"),
            _YES,
        ),
        operands=(_CLIENT,),
        examples=(
            ("errands install claude", "for all projects"),
            ("errands install opencode --project", "for the project in this directory"),
            ("errands install vscode --print", "to put it there by hand"),
        ),
    ),
    Verb(
        name="uninstall",
        summary="take out of a program's configuration what install has written",
        run=uninstall,
        details="Shows every change and asks. What was written by others, before or since, stays; so does a "
        "file of ours that somebody has changed. Directories that install made go if nothing is in them.",
        options=(*_WHERE, _YES),
        operands=(_CLIENT,),
        examples=(("errands uninstall claude", "with the hooks, commands and skill"),),
    ),
)
