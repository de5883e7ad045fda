"""The manual page: the option tables as errands(1)."""

from __future__ import annotations

from errands import __version__
from errands.frontends.cli.help import explained, spelled, usage_lines
from errands.frontends.cli.parser import Verb
from errands.frontends.cli.verbs import GROUPS, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILES = {
    "~/.local/state/errands": "the store, and a directory for each run; $ERRANDS_HOME names another place",
    "~/.config/errands/config.toml": "the configuration; below $XDG_CONFIG_HOME if that is set",
    "errands.toml": "the configuration of a project, in its root",
}


def manual(exit_codes: Mapping[str, str]) -> str:
    """Write the whole page in the language of man."""
    return "\n".join([*_head(), *_verbs(), *_tail(exit_codes)]) + "\n"


def _head() -> Iterator[str]:
    yield f'.TH ERRANDS 1 "" "errands {__version__}" "User Commands"'
    yield ".SH NAME"
    yield "errands \\- run slow work in the background and lose none of it"
    yield ".SH SYNOPSIS"
    yield ".B errands"
    yield ".I VERB"
    yield "[options]"
    yield ".SH DESCRIPTION"
    yield _text(
        "Errands runs shell commands and prompts for agents in the background: now, on a schedule or on an "
        "event. A command that could do harm waits for approval. A task survives the death of the terminal "
        "and of the daemon, and reports once to its caller. The daemon starts by itself."
    )


def _verbs() -> Iterator[str]:
    for title, names in GROUPS:
        yield f".SH {title.upper()}"
        for name in names:
            yield from _verb(load(name))


def _verb(verb: Verb) -> Iterator[str]:
    for usage in usage_lines(verb):
        yield ".PP"
        yield f"\\fBerrands {_escaped(usage)}\\fR"
    yield ".RS"
    yield _text(f"{verb.summary[0].upper()}{verb.summary[1:]}.")
    if verb.details:
        yield ".PP"
        yield _text(verb.details)
    for operand in verb.operands:
        yield from _item(str(operand), operand.help)
    for option in verb.options:
        yield from _item(spelled(option), explained(option))
    yield ".RE"


def _tail(exit_codes: Mapping[str, str]) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code, meaning in exit_codes.items():
        yield from _item(code, meaning)
    yield ".SH FILES"
    for place, meaning in FILES.items():
        yield from _item(place, meaning)


def _item(name: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield f"\\fB{_escaped(name)}\\fR"
    yield _text(meaning)


def _text(text: str) -> str:
    """Escape a paragraph; a line that begins with a dot or a quote would be a request."""
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in _escaped(text).splitlines())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
