"""The programs the judge knows: which uses of them are harmless, and what the others would do.

The tables stand in small files, one per family. `reasons_for` judges one simple command, given as the words
the program gets; no reason means that it is harmless. Shell syntax is none of its business.
"""

from __future__ import annotations

from errands.judge.programs.entry import Program
from errands.judge.programs.harm import told
from errands.judge.programs.places import objection_to_place
from errands.judge.programs.usage import reasons_by_entry
from errands.judge.programs.versions import VERSIONS
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry
    from errands.judge.surroundings import Surroundings

# Which file knows a program. A family is loaded when one of its programs is met: most lines meet one or two.
FAMILIES = {
    name: family
    for family, names in {
        "listing": """
            ls dir vdir tree stat file readlink realpath basename dirname pathchk namei lsattr getfacl du df
            md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum md5
        """,
        "reading": """
            cat tac head tail nl wc od hexdump hd xxd base64 base32 basenc strings nm size readelf objdump
            zcat bzcat xzcat zstdcat cmp comm diff diff3 sdiff iconv man whatis apropos
        """,
        "text": """
            sort uniq cut tr paste join rev fold fmt expand unexpand column colrm pr shuf tsort numfmt seq
            bc factor look ts
        """,
        "search": "grep egrep fgrep rg fd fdfind whereis which type locate",
        "sed": "sed gsed",
        "awk": "awk gawk mawk nawk",
        "structured": "jq yq",
        "shell": """
            echo true false : printf test [ sleep expr printenv command pwd exit umask ulimit times help jobs
            dirs
        """,
        "system": """
            uname arch whoami logname hostid tty users groups id who w hostname dnsdomainname uptime nproc
            free date cal ps pgrep pidof pstree top lscpu lsblk lsmem lsusb lspci lsmod findmnt vmstat
            iostat mpstat dmesg ss netstat lsof ip ifconfig locale getconf lsb_release sw_vers
        """,
        "git": "git",
        "testing": "pytest py.test python python3 uv",
        "archives": "tar unzip zipinfo gzip gunzip xz unxz bzip2 bunzip2",
        "tools": "pip pip3 dpkg dpkg-query",
        "find": "find gfind",
    }.items()
    for name in names.split()
}


def entry_for(name: str) -> Entry | None:
    """Find what the tables say about a program, given by its bare name."""
    if name.startswith("python3.") and name[8:].isdigit():
        name = "python3"
    family = FAMILIES.get(name)
    if family is None:
        return None
    found: Entry = __import__(f"{__name__}.{family}", fromlist=("PROGRAMS",)).PROGRAMS[name]
    return found


def reasons_for(words: tuple[str, ...], surroundings: Surroundings) -> tuple[Reason, ...]:
    """Say why a person must be asked about this command; () if it is harmless."""
    name = words[0]
    if "/" in name:
        runs = Reason(text=f"runs the file {name}", kind="script")
        harm = _harm((name.rpartition("/")[2], *words[1:]))
        return (harm, runs) if harm else (runs,)
    if len(words) == 2 and words[1] in VERSIONS.get(name, ()):
        return ()
    entry = entry_for(name)
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
    from errands.judge.programs.harms import HARMS

    name = words[0]
    for length, key in ((2, " ".join(words[:2])), (1, name)):
        if len(words) >= length and key in HARMS:
            reason = told(words, HARMS[key], skip=length)
            if reason is not None:
                return reason
    return None
