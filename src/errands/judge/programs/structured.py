"""Programs that read structured text: jq and yq."""

from __future__ import annotations

import re

from errands.judge.programs.entry import Program
from errands.judge.programs.usage import reasons_by_entry
from errands.judge.programs.values import objection
from errands.judge.programs.words import Glob
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry
    from errands.judge.programs.usage import Usage
    from errands.judge.surroundings import Surroundings

# What shows the environment, loads modules or runs programs. After a dot it is the name of a field.
_REACHES_OUT = re.compile(
    r"\$ENV|\$__prog|(?<![.\w])(env|import|include|modulemeta|get_search_list|getenv|strenv|envsubst|load\w*|"
    r"system|eval\w*)\b"
)
# yq is the name of two programs; only what means the same to both.
_YQ_FILTER = re.compile(r"[\w.\[\]\"| :*-]*")


def _filter(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
    # `yq eval FILTER FILE` is `yq FILTER FILE`.
    first = 1 if usage.name == "yq" and usage.operands[:1] in (["e"], ["eval"]) else 0
    for word in usage.operands[first : first + 1]:
        found = _REACHES_OUT.search(word)
        if found is not None:
            said = f"`{usage.name}`: `{found[0]}` reaches beyond the input"
            return (Reason(text=said, kind="secret" if "env" in found[0].lower() else "script"),)
        if usage.name == "yq" and not _YQ_FILTER.fullmatch(word):
            return (Reason(text=f"cannot see that this filter is harmless: {word}", kind="script"),)
        # One of them takes a filter that is the name of a file for that file.
        if usage.name == "yq" and (secret := objection("READ", word, surroundings)):
            return (Reason(text=secret[0], kind="secret"),)
    return ()


_JQ = Program(
    options="""
    -n --null-input -R --raw-input -s --slurp -c --compact-output -r --raw-output -j --join-output -a
    --ascii-output -S --sort-keys -C --color-output -M --monochrome-output --tab --indent=NUMBER --unbuffered
    --stream --stream-errors --seq -e --exit-status --raw-output0 -h -V
    """,
    operands="PATTERN READ...",
    refused={
        "-f --from-file": "runs a filter of unknown content",
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


def reasons_for_jq(words: tuple[str, ...], surroundings: Surroundings) -> tuple[Reason, ...]:
    """Judge a whole `jq` command."""
    reasons: list[Reason] = []
    rest: list[str] = []
    place = 1
    while place < len(words):
        word = words[place]
        if word in _NAMED and place + 2 < len(words):
            name, value = words[place + 1 : place + 3]
            found = objection(_NAMED[word], value, surroundings)
            if isinstance(name, Glob) or isinstance(value, Glob):
                reasons.append(Reason(text=f"`jq`: the value of `{word}` is a wildcard", kind="shell"))
            elif found is not None:
                reasons.append(Reason(text=found[0], kind=found[1]))
            place += 3
        elif word in ("--args", "--jsonargs"):
            place += 1
        elif word == "--":
            rest.extend(words[place:])
            break
        else:
            rest.append(word)
            place += 1
    return (*reasons, *reasons_by_entry("jq", tuple(rest), _JQ, surroundings))


PROGRAMS: dict[str, Entry] = {"jq": reasons_for_jq, "yq": _YQ}
