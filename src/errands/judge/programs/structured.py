"""Programs that read structured text: jq and yq."""

from __future__ import annotations

import re

from errands.judge.programs.entry import Program, ask, objection_to_home
from errands.judge.programs.globs import Glob
from errands.judge.programs.places import objection_to_place
from errands.judge.programs.usage import objection, reasons_by_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry, Reasons, Usage
    from errands.judge.workspace import Workspace
    from errands.model.verdict import Reason

# Shows the environment, loads modules or runs programs; after a dot it is just the name of a field. jq
# allows blanks and comments between a dollar sign and its name.
_REACHES_OUT = re.compile(
    r"\$(?:ENV|__prog|[\s#])|(?<![.\w])(env|import|include|modulemeta|get_search_list|getenv|strenv|envsubst|"
    r"load\w*|system|eval\w*)\b"
)
# `yq eval FILTER FILE` is `yq FILTER FILE`; the other program of that name knows no such filter.
_EVALUATES = frozenset("e eval ea eval-all".split())
# There are two programs called yq; this is what means the same to both.
_YQ_FILTER = re.compile(r"[\w.\[\]\"| :*-]*")
_FILE = re.compile(r"[\w-]+(?:\.[\w-]+)+")


def _filter(usage: Usage, workspace: Workspace) -> Reasons:
    for word in usage.operands[:1]:
        beyond = _REACHES_OUT.search(word)
        if beyond is not None:
            said = f"`{usage.name}`: `{beyond[0]}` reaches beyond the input"
            return ask(said, "script" if beyond[0].isalpha() and "env" not in beyond[0] else "secret")
        if usage.name == "yq" and not _YQ_FILTER.fullmatch(word):
            return ask(f"cannot see that this filter is harmless: {word}", "script")
        # One of them reads a filter that is the name of a file as that file.
        if usage.name == "yq" and _FILE.fullmatch(word) and (found := objection("READ", word, workspace)):
            return (found,)
        if usage.name == "yq" and (secret := objection_to_place(word, "READ", workspace)):
            return ask(secret, "secret")
    return ()


_JQ = Program(
    options="""
    -n --null-input -R --raw-input -s --slurp -c --compact-output -r --raw-output -j --join-output -a
    --ascii-output -S --sort-keys -C --color-output -M --monochrome-output --tab --indent=NUMBER --unbuffered
    --stream --stream-errors --seq -e --exit-status --raw-output0 -h -V
    """,
    operands="PATTERN READ...",
    refused={
        "-f --from-file": "runs a filter from a file",
        "-L --library-path": "loads modules from a directory",
    },
    check=_filter,
)

_YQ = Program(
    options="""
    -r --raw-output -c --compact-output -C -M -e --exit-status -S --sort-keys -V -y --yaml-output -P
    -o=json|yaml|props|xml|csv|tsv -p=json|yaml|props|xml|csv|tsv
    """,
    operands="PATTERN READ...",
    refused={
        "-i --inplace --in-place": "edits files in place",
        "-s --split-exp": "may write files",
    },
    check=_filter,
)

# Options of jq that take a name and a value.
_NAMED = {"--arg": "TEXT", "--argjson": "TEXT", "--slurpfile": "READ", "--rawfile": "READ"}


def reasons_for_jq(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    """Judge a whole `jq` command."""
    # jq loads ~/.jq before its filter.
    reasons: list[Reason] = [*objection_to_home("jq", workspace)]
    rest: list[str] = []
    place = 1
    while place < len(words):
        word = words[place]
        if word in _NAMED and place + 2 < len(words):
            name, value = words[place + 1 : place + 3]
            if isinstance(name, Glob) or isinstance(value, Glob):
                reasons += ask(f"`jq`: the value of `{word}` is a wildcard", "shell")
            elif found := objection(_NAMED[word], value, workspace):
                reasons.append(found)
            place += 3
        elif word in ("--args", "--jsonargs"):
            place += 1
        elif word == "--":
            rest.extend(words[place:])
            break
        else:
            rest.append(word)
            place += 1
    return (*reasons, *reasons_by_entry("jq", tuple(rest), _JQ, workspace))


def reasons_for_yq(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    """Judge a whole `yq` command."""
    at = 2 if words[1:2] and words[1] in _EVALUATES else 1
    return reasons_by_entry("yq", words[at:], _YQ, workspace)


PROGRAMS: dict[str, Entry] = {"jq": reasons_for_jq, "yq": reasons_for_yq}
