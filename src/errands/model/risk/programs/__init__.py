"""The programs the judge knows: which uses of them are harmless, and what the others would do.

The tables stand in small files, one per family. `reasons_for` judges one simple command, given as the words
the program gets; no reason means that it is harmless. Shell syntax is none of its business.
"""

from __future__ import annotations

from errands.model.risk.programs import (
    archives,
    awk,
    find,
    git,
    listing,
    reading,
    search,
    sed,
    shell,
    structured,
    system,
    testing,
    text,
    tools,
)
from errands.model.risk.programs.entry import Program
from errands.model.risk.programs.harm import told
from errands.model.risk.programs.places import objection_to_place
from errands.model.risk.programs.usage import reasons_by_entry
from errands.model.risk.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.risk.programs.entry import Entry
    from errands.model.risk.surroundings import Surroundings

PROGRAMS: dict[str, Entry] = {
    **listing.PROGRAMS,
    **reading.PROGRAMS,
    **text.PROGRAMS,
    **search.PROGRAMS,
    "find": find.reasons_for_find,
    "gfind": find.reasons_for_find,
    **sed.PROGRAMS,
    **awk.PROGRAMS,
    **structured.PROGRAMS,
    **shell.PROGRAMS,
    **system.PROGRAMS,
    **git.PROGRAMS,
    **testing.PROGRAMS,
    **archives.PROGRAMS,
    **tools.PROGRAMS,
}


def reasons_for(words: tuple[str, ...], surroundings: Surroundings) -> tuple[Reason, ...]:
    """Say why a person must be asked about this command; () if it is harmless."""
    name = words[0]
    if "/" in name:
        runs = Reason(text=f"runs the file {name}", kind="script")
        harm = _harm((name.rpartition("/")[2], *words[1:]))
        return (harm, runs) if harm else (runs,)
    if len(words) == 2 and words[1] in tools.VERSIONS.get(name, ()):
        return ()
    entry = PROGRAMS.get(name)
    if entry is None and testing.is_python(name):
        entry = testing.reasons_for_python
    if entry is None:
        unknown = Reason(text=f"`{name}` is not on the list of harmless programs", kind="program")
        return (_harm(words) or unknown,)
    if isinstance(entry, Program):
        reasons = reasons_by_entry(name, words[1:], entry, surroundings)
    else:
        reasons = entry(words, surroundings)
    # A known harm says more than the option or subcommand that is missing from a table.
    if reasons and (harm := _harm(words)):
        return (harm, *(reason for reason in reasons if reason.kind != "program"))
    return reasons


def reasons_for_reading(path: str, surroundings: Surroundings) -> tuple[Reason, ...]:
    """Say why a person must be asked before this file is read; () if anybody may read it."""
    said = objection_to_place(path, "READ", surroundings)
    return () if said is None else (Reason(text=said, kind="secret"),)


def _harm(words: tuple[str, ...]) -> Reason | None:
    # Needed only when there is something to ask.
    from errands.model.risk.programs.harms import HARMS

    name = words[0]
    for length, key in ((2, " ".join(words[:2])), (1, name)):
        if len(words) >= length and key in HARMS:
            reason = told(words, HARMS[key], skip=length)
            if reason is not None:
                return reason
    return None
