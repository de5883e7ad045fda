"""completion: shell scripts that complete verbs, options, values and ids.

The scripts call `errands complete` at every TAB, so they never go stale; it answers from the option
tables and the store, one `value TAB meaning` per line, or with `:files`, `:directories` or `:command`
where the shell completes better by itself.
"""

from __future__ import annotations

from errands.config.channels import READY, kind_of
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import HELP, Arguments, Option, Verb, operand
from errands.frontends.cli.verbs import FAMILIES, GROUPS, NAMES, load
from errands.model.errors import ErrandsError
from errands.model.schedule.event_sources import KINDS
from errands.model.states import ENDED, OPEN, STANDING
from errands.model.text.sanitise import line
from errands.model.view import View
from errands.ports.store import Query
from errands.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from errands.frontends.cli.parser import Completes

BASH = r"""
_errands() {
    local value meaning cur=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    while IFS=$'\t' read -r value meaning; do
        case $value in
            :files) compopt -o default; return ;;
            :directories) compopt -o dirnames; return ;;
            :command) mapfile -t COMPREPLY < <(compgen -c -- "$cur"); return ;;
            *) COMPREPLY+=("$value") ;;
        esac
    done < <(errands complete bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _errands errands
"""

ZSH = r"""
#compdef errands
_errands() {
    local line
    local -a lines found
    lines=("${(@f)$(errands complete zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    case $lines[1] in
        :files) _files ;;
        :directories) _files -/ ;;
        :command) _command_names -e ;;
        '') ;;
        *)
            for line in $lines; do
                found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
            done
            _describe -V errands found ;;
    esac
}
# Installed as a function, this file is the completion itself; sourced, it registers one.
if [[ $funcstack[1] == _errands ]]; then _errands "$@"; else compdef _errands errands; fi
"""

FISH = r"""
function __errands_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (errands complete fish -- $words[2..-1] 2>/dev/null)
    switch "$lines[1]"
        case :files
            __fish_complete_path (commandline -ct)
        case :directories
            __fish_complete_directories (commandline -ct)
        case :command
            __fish_complete_command
        case '*'
            printf '%s\n' $lines
    end
end
complete -c errands -f -a '(__errands_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def completion(context: Context, arguments: Arguments) -> int:
    context.print_as_is(SCRIPTS[arguments.shell].strip())
    return 0


def complete(context: Context, arguments: Arguments) -> int:
    for value, meaning in candidates(context, arguments.shell, list(arguments.words) or [""]):
        context.print_as_is(f"{value}\t{one_line(meaning)}" if meaning else value)
    return 0


def candidates(context: Context, shell: str, words: list[str]) -> Iterator[tuple[str, str]]:
    """Complete the last of the words that follow the program's name."""
    *before, current = words
    if shell == "bash":
        before, current = _joined(before, current)
    prefix = ""
    if current.startswith("--") and "=" in current:
        flag, _, current = current.partition("=")
        before, prefix = [*before, flag], f"{flag}="
    for value, meaning in _possible(context, before, current):
        if value.startswith((current, ":")):
            # Bash treats `=` as a word of its own and wants only what follows it.
            yield (value if shell == "bash" or value.startswith(":") else prefix + value), meaning


def _joined(before: list[str], current: str) -> tuple[list[str], str]:
    """Undo bash's habit of making `=` a word of its own."""
    if current == "=" and before:
        return before[:-1], f"{before[-1]}="
    if len(before) > 1 and before[-1] == "=":
        return before[:-2], f"{before[-2]}={current}"
    return before, current


def _possible(context: Context, before: list[str], current: str) -> Iterator[tuple[str, str]]:
    if not before:
        yield from _verbs(current)
        return
    if len(before) == 1 and before[0] in FAMILIES:
        yield from ((name.partition(" ")[2], load(name).summary) for name in FAMILIES[before[0]])
        return
    name = " ".join(before[:2]) if before[0] in FAMILIES else before[0]
    if name not in NAMES:
        return
    verb, rest = load(name), before[len(name.split()) :]
    flags = {flag: option for option in (*verb.options, HELP) for flag in option.flags}
    operands: list[str] = []
    given: list[Option] = []
    while rest:
        word = rest.pop(0)
        if word == "--":
            yield from _operand(context, verb, [*operands, *rest])
            return
        option = flags.get(word.partition("=")[0])
        if option is None:
            operands.append(word)
            continue
        given.append(option)
        if option.metavar and "=" not in word:
            if not rest:
                yield from ((choice, "") for choice in option.choices)
                yield from _known(context, option.completes)
                return
            rest.pop(0)
    if current.startswith("-"):
        yield from ((o.flags[-1], o.help) for o in (*verb.options, HELP) if o.repeat or o not in given)
    else:
        yield from _operand(context, verb, operands)


def _verbs(current: str) -> Iterator[tuple[str, str]]:
    if current.startswith("-"):
        yield "--help", "list the verbs"
        yield "--version", "print the version"
    for _, names in GROUPS:
        for name in names:
            first, _, member = name.partition(" ")
            if not member:
                yield name, load(name).summary
            elif name == FAMILIES[first][0]:
                yield first, ", ".join(each.partition(" ")[2] for each in FAMILIES[first])


def _operand(context: Context, verb: Verb, earlier: list[str]) -> Iterator[tuple[str, str]]:
    at = len(earlier)
    last = verb.operands[-1] if verb.operands else None
    operand = verb.operands[at] if at < len(verb.operands) else last if last and last.repeat else None
    if operand is None:
        return
    if operand.completes == "command":
        yield (":files" if earlier else ":command"), ""
        return
    yield from ((choice, "") for choice in operand.choices)
    for value, meaning in _known(context, operand.completes):
        if value not in earlier:
            yield value, meaning


def _known(context: Context, what: Completes) -> Iterator[tuple[str, str]]:
    """Yield the existing values of a kind; none if the store cannot be read."""
    if what in ("files", "directories"):
        yield f":{what}", ""
    elif what:
        try:
            yield from _existing(context, what)
        except ErrandsError:
            return


def _existing(context: Context, what: Completes) -> Iterator[tuple[str, str]]:
    """Yield the existing values of a kind, newest first, each with a short description."""
    config = context.config
    match what:
        case "lanes":
            yield from ((name, f"{width} at a time") for name, width in config.lanes.items())
        case "channels":
            names = dict.fromkeys([*config.channels, *READY])
            yield from ((name, kind_of(name, config.channels)) for name in names)
        case "sources":
            yield from ((f"{name}:", kind.subject) for name, kind in KINDS.items())
        case "given up":
            yield from (
                (str(notice.id), f"{notice.run_id} {notice.state}: {line(notice.error or '')}")
                for notice in context.engine.notices.undelivered(given_up=True)
            )
        case "templates":
            yield from ((name, "") for name in context.engine.templates())
        case "batches":
            batches = (view.batch for view in context.engine.list(Query(limit=1000)))
            yield from ((batch, "") for batch in dict.fromkeys(batches) if batch)
        case "proposed":
            yield from map(_described, context.engine.answerable())
        case _:
            states = {"live": OPEN, "open": (*OPEN, *STANDING), "ended": ENDED, "standing": STANDING}.get(
                what, ()
            )
            yield from map(_described, context.engine.list(Query(states=states, limit=200)))


def _described(view: View) -> tuple[str, str]:
    return view.id, f"{view.state}: {line(view.description)}"


SHELL = operand("SHELL", "bash, zsh or fish", choices=tuple(SCRIPTS))

VERBS = (
    Verb(
        name="completion",
        summary="print the completion script for a shell",
        run=completion,
        operands=(SHELL,),
        examples=(
            ("source <(errands completion bash)", "in ~/.bashrc"),
            ("source <(errands completion zsh)", "in ~/.zshrc, after compinit"),
            ("errands completion fish | source", "in ~/.config/fish/config.fish"),
        ),
    ),
    Verb(
        name="complete",
        summary="complete a command line for a shell",
        run=complete,
        operands=(SHELL, operand("[WORDS...]", "the words so far")),
        hidden=True,
    ),
)
