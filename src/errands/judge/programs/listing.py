"""Programs that list files and describe them: names, sizes, dates, kinds."""

from __future__ import annotations

import re

from errands.judge.programs.entry import Program, ask, ask_each
from errands.judge.programs.places import objection_to_listing
from errands.judge.programs.usage import reasons_by_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry, Reasons, Usage
    from errands.judge.workspace import Workspace


def _not_the_whole_disk(usage: Usage, workspace: Workspace) -> Reasons:
    return ask_each((objection_to_listing(place, workspace) for place in usage.operands or ["."]), "secret")[
        :1
    ]


def _not_a_whole_home(usage: Usage, workspace: Workspace) -> Reasons:
    return _not_the_whole_disk(usage, workspace) if usage.has("-R", "--recursive") else ()


def _not_every_directory(usage: Usage, workspace: Workspace) -> Reasons:
    is_short = usage.has("-s", "--summarize", "-d", "--max-depth")
    return () if is_short else _not_the_whole_disk(usage, workspace)


_LS = Program(
    options="""
    -a --all -A --almost-all --author -b --escape --block-size=SIZE -B --ignore-backups -c -C --color[=WHEN]
    -d --directory -D --dired -f -F --classify[=always|auto|never] --file-type
    --format=across|commas|horizontal|long|single-column|verbose|vertical --full-time -g
    --group-directories-first -G --no-group -h --human-readable --si -H --dereference-command-line
    --dereference-command-line-symlink-to-dir --hide=PATTERN --hyperlink[=WHEN] -i --inode
    --indicator-style=none|slash|file-type|classify -I=PATTERN --ignore=PATTERN -k --kibibytes -l -L
    --dereference -m -n --numeric-uid-gid -N --literal -o -p -q --hide-control-chars --show-control-chars -Q
    --quote-name
    --quoting-style=literal|locale|shell|shell-always|shell-escape|shell-escape-always|c|escape
    -r --reverse -R --recursive -s --size -S --sort=none|size|time|version|extension|name|width
    --time=atime|access|use|ctime|status|birth|creation|mtime|modification --time-style=TEXT -t -T=NUMBER
    --tabsize=NUMBER -u -U -v -w=NUMBER --width=NUMBER -x -X -Z --context --zero -1
    """.replace("[=WHEN]", "[=always|auto|never|yes|no|force|none|tty|if-tty]"),
    operands="LOOK...",
    check=_not_a_whole_home,
)

_CHECKSUM_OPTIONS = """
-b --binary -c --check --tag -t --text -z --zero --ignore-missing --quiet --status --strict -w --warn
"""
_CHECKSUM = Program(options=_CHECKSUM_OPTIONS, operands="SUM...")

_TREE = Program(
    options="""
    -a -d -l -f -x -L=NUMBER -P=PATTERN -I=PATTERN --gitignore --infofile=READ --ignore-case --matchdirs
    --metafirst --prune --info --noreport --charset=TEXT --filelimit=NUMBER --si -q -N -Q -p -u -g -s -h
    -D --timefmt=TEXT -F --inodes --device -v -t -c -U -r --dirsfirst --filesfirst
    --sort=name|version|size|mtime|ctime|none -i -A -S -n -C -X -J --du --nolinks --hintro=READ
    --houtro=READ
    """,
    operands="LOOK...",
    refused={
        "-o": "writes the listing to a file",
        "-R": "writes a file 00Tree.html into directories",
        "-H": "together with -R it writes files into directories",
    },
    check=_not_the_whole_disk,
)
# In a bundle, tree takes every value from the next words; only a number may be attached to `-L`.
_TREE_BUNDLE = re.compile(r"-(?!-)(?![a-zA-Z]*L\d+$).*[LPIoHT].+")


def _tree(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    for word in words[1:]:
        if _TREE_BUNDLE.fullmatch(word):
            return ask(f"`tree`: the values of `{word}` may be any of the next words", "option")
    return reasons_by_entry("tree", words[1:], _TREE, workspace)


PROGRAMS: dict[str, Entry] = {
    "ls": _LS,
    "dir": _LS,
    "vdir": _LS,
    "tree": _tree,
    "stat": Program(
        options="""
        -L --dereference -f --file-system --cached=always|never|default -c=TEXT --format=TEXT --printf=TEXT -t
        --terse
        """,
        operands="LOOK...",
    ),
    "file": Program(
        options="""
        -b --brief -i --mime --mime-type --mime-encoding --extension --apple -k --keep-going -L --dereference
        -h --no-dereference -n --no-buffer -N --no-pad -0 --print0 -r --raw -F=TEXT --separator=TEXT -v
        -e=TEXT --exclude=TEXT -l --list
        """,
        operands="LOOK...",
        refused={
            "-C --compile": "writes a compiled magic file",
            "-m --magic-file": "reads its rules from a file",
            "-z --uncompress -Z --uncompress-noreport": "starts programs to unpack files",
            "-f --files-from": "reads the names of files from a file",
            "-s --special-files": "reads devices",
            "-p --preserve-date": "changes the dates of files",
        },
    ),
    "readlink": Program(
        options="""
        -f --canonicalize -e --canonicalize-existing -m --canonicalize-missing -n --no-newline -q --quiet -s
        --silent -v --verbose -z --zero
        """,
        operands="LOOK...",
    ),
    "realpath": Program(
        options="""
        -e --canonicalize-existing -m --canonicalize-missing -L --logical -P --physical -q --quiet
        --relative-to=LOOK --relative-base=LOOK -s --strip --no-symlinks -z --zero
        """,
        operands="LOOK...",
    ),
    "basename": Program(
        options="-a --multiple -s=TEXT --suffix=TEXT -z --zero", operands="TEXT...", permutes=False
    ),
    "dirname": Program(options="-z --zero", operands="TEXT...", permutes=False),
    "pathchk": Program(options="-p -P --portability", operands="TEXT..."),
    "namei": Program(
        options="-x --mountpoints -m --modes -o --owners -l --long -n -v --vertical", operands="LOOK..."
    ),
    "lsattr": Program(
        options="-R -V -a -d -l -p -v", operands="LOOK...", helps=False, check=_not_a_whole_home
    ),
    "getfacl": Program(
        options="""
        -a --access -d --default -c --omit-header -e --all-effective -E --no-effective -s --skip-base -R
        --recursive -L --logical -P --physical -t --tabular -n --numeric -p --absolute-names
        """,
        operands="LOOK...",
        check=_not_a_whole_home,
    ),
    "du": Program(
        options="""
        -0 --null -a --all --apparent-size -B=SIZE --block-size=SIZE -b --bytes -c --total -D
        --dereference-args -d=NUMBER --max-depth=NUMBER -H -h --human-readable --inodes -k -L --dereference
        -l --count-links -m -P --no-dereference -S --separate-dirs --si -s --summarize -t=SIZE
        --threshold=SIZE --time[=atime|access|use|ctime|status] --time-style=TEXT --exclude=PATTERN -x
        --one-file-system
        """,
        operands="LOOK...",
        refused={"--files0-from -X --exclude-from": "reads names from a file"},
        check=_not_every_directory,
    ),
    "df": Program(
        options="""
        -a --all -B=SIZE --block-size=SIZE -h --human-readable -H --si -i --inodes -k -l --local --no-sync
        --output[=TEXT] -P --portability --total -t=TEXT --type=TEXT -T --print-type -x=TEXT
        --exclude-type=TEXT -v
        """,
        operands="LOOK...",
    ),
    "md5sum": _CHECKSUM,
    "sha1sum": _CHECKSUM,
    "sha224sum": _CHECKSUM,
    "sha256sum": _CHECKSUM,
    "sha384sum": _CHECKSUM,
    "sha512sum": _CHECKSUM,
    "b2sum": Program(options=_CHECKSUM_OPTIONS + "-l=NUMBER --length=NUMBER", operands="SUM..."),
    "cksum": Program(
        options="""
        -a=TEXT --algorithm=TEXT -c --check -l=NUMBER --length=NUMBER --tag --untagged -z --zero
        --ignore-missing --quiet --status --strict -w --warn --debug --base64 --raw
        """,
        operands="SUM...",
    ),
    "sum": Program(options="-r -s --sysv", operands="SUM..."),
    "shasum": Program(
        options="""
        -a=NUMBER --algorithm=NUMBER -b --binary -c --check -t --text -q --quiet -s -w --warn -U -0 --tag
        --strict --status --ignore-missing
        """,
        operands="SUM...",
    ),
    "md5": Program(options="-q -r -s=TEXT", operands="SUM...", helps=False),
}
