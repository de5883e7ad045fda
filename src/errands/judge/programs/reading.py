"""Programs that show the content of files, whole or in part, as text or as numbers."""

from __future__ import annotations

import re

from errands.judge.programs.entry import Program, ask, ask_each, objection_to_home, unlisted
from errands.judge.programs.places import (
    objection_to_following,
    objection_to_place,
    objection_to_recursion,
)
from errands.judge.programs.usage import reasons_by_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry, Reasons, Usage
    from errands.judge.workspace import Workspace


def _no_lists_of_options(usage: Usage, workspace: Workspace) -> Reasons:
    """Refuse `@file`, from which binutils read options."""
    values = [value for _, value in usage.options if value is not None]
    return ask_each(
        (
            f"`{usage.name}` reads options from the file {word[1:]}"
            for word in (*usage.operands, *values)
            if word.startswith("@")
        ),
        "option",
    )


def _not_everything(usage: Usage, workspace: Workspace) -> Reasons:
    if usage.has("-N", "--new-file", "-P", "--unidirectional-new-file") and not usage.has("-q", "--brief"):
        return ask("shows every line of the files that only one side has", "secret")
    if found_by_name := _in_the_other(usage, workspace):
        return found_by_name
    places = [*usage.operands, *usage.values("--from-file", "--to-file")]
    if not usage.has("-r", "--recursive"):
        # Of two directories it compares the files in them, hidden ones too.
        directories = [place for place in places if place in (".", "..") or workspace.is_directory(place)]
        if len(directories) < 2 or usage.has("-q", "--brief"):
            return ()
        return ask(f"shows the lines that differ in all files of {directories[0]}", "option")
    found = [objection_to_recursion(place, workspace) for place in places]
    if usage.has("-q", "--brief"):
        return ask_each(found, "secret")
    if not usage.has("--no-dereference"):
        found += [objection_to_following(place, workspace) for place in places]
    secret = ask_each(found, "secret")
    return secret or ask("shows the lines that differ in all files, those with secrets too", "option")


_MOST_COMPARED = 8


def _in_the_other(usage: Usage, workspace: Workspace) -> Reasons:
    """Object to a file that is meant by its directory and another's name: `sdiff config .git`."""
    places = [*usage.operands, *usage.values("--from-file", "--to-file")]
    if len(places) > _MOST_COMPARED:
        return ask(f"compares more than {_MOST_COMPARED} files", "size")
    found = (
        objection_to_place(type(one)(f"{other}/{one.rpartition('/')[2]}"), "READ", workspace)
        for one in places
        for other in places
        if one != other and "-" not in (one, other)
    )
    return ask_each(found, "secret")[:1]


_LONGEST_CHARSET = 80
# What iconv should do with characters that cannot be converted.
_CHARSET_WISH = re.compile(r"(?i)(//(translit|ignore|non_identical_discard)?)+$")


def _no_charmaps(usage: Usage, workspace: Workspace) -> Reasons:
    """Refuse the name of a file as a character set, which iconv then reads; `//etc/shadow` counts, too."""
    named = usage.values("-f", "--from-code", "-t", "--to-code")
    if any(len(each) > _LONGEST_CHARSET for each in named):
        return ask("the name of a character set is too long", "option")
    return ask_each(
        (f"`iconv` reads the file {each}" for each in named if "/" in _CHARSET_WISH.sub("", each)), "option"
    )


def _ends(usage: Usage, workspace: Workspace) -> Reasons:
    """Refuse the old way to write `-f`: `tail +5f app.log`."""
    return ask_each(
        (f"`tail`: `{word}` may wait for more and never end" for word in usage.operands if word[:1] == "+"),
        "option",
    )


_ENCODE = Program(
    # `-o` writes a file on macOS and the BSDs.
    options="-d --decode -i --ignore-garbage -w=NUMBER --wrap=NUMBER",
    operands="READ",
    refused={"-o": "writes a file"},
)

_HEXDUMP = Program(
    options="""
    -b --one-byte-octal -X --one-byte-hex -c --one-byte-char -C --canonical -d --two-bytes-decimal -o
    --two-bytes-octal -x --two-bytes-hex -e=TEXT --format=TEXT -n=COUNT --length=COUNT -s=COUNT --skip=COUNT
    -v --no-squeezing -h -V
    -L[=TEXT] --color[=TEXT]
    """,
    operands="READ...",
)

_XXD = Program(
    options="-a -b -C -d -e -E -i -p -r -u -c=COUNT -g=COUNT -l=COUNT -o=COUNT -s=COUNT -h -v",
    operands="READ",
    permutes=False,
    helps=False,
)
# xxd has no bundles: a longer word is one option with its number attached, or another name of `-p`.
_XXD_WORD = re.compile(r"-([cglos]?[+-]?(0x)?[0-9a-fA-F]*[0-9]|ps|plain|postscript)")


def _xxd(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    rest = []
    for word in words[1:]:
        if word.startswith("-") and len(word) > 2:
            if not _XXD_WORD.fullmatch(word):
                return unlisted("xxd", word)
            word = "-p" if word[1] == "p" else word
        rest.append(word)
    return reasons_by_entry("xxd", tuple(rest), _XXD, workspace)


def _only_names(usage: Usage, workspace: Workspace) -> Reasons:
    """Refuse files, also as sections, and a home directory whose `.manpath` may name programs."""
    words = (*usage.operands, *usage.values("-s", "-S"))
    files = [f"`man` would render the file {word}" for word in words if "/" in word]
    if any(pager != "cat" for pager in usage.values("-P", "--pager")):
        return ask("`man`: `-P` names a program to run", "helper")
    return ask_each(files, "option") or objection_to_home("man", workspace)


PROGRAMS: dict[str, Entry] = {
    "cat": Program(
        options="""
        -A --show-all -b --number-nonblank -e -E --show-ends -n --number -s --squeeze-blank -t -T
        --show-tabs -u -v --show-nonprinting
        """,
        operands="READ...",
    ),
    "tac": Program(
        options="-b --before -r --regex -s=TEXT --separator=TEXT",
        operands="READ...",
    ),
    "head": Program(
        options="""
        -NUMBER -c=COUNT --bytes=COUNT -n=COUNT --lines=COUNT -q --quiet --silent -v --verbose -z
        --zero-terminated
        """,
        operands="READ...",
    ),
    "tail": Program(
        options="""
        -NUMBER +NUMBER -c=COUNT --bytes=COUNT -n=COUNT --lines=COUNT -q --quiet --silent -v --verbose -z
        --zero-terminated
        """,
        operands="READ...",
        refused={"-f -F --follow --retry --pid": "waits for more and never ends"},
        check=_ends,
    ),
    "nl": Program(
        options="""
        -b=TEXT --body-numbering=TEXT -d=TEXT --section-delimiter=TEXT -f=TEXT --footer-numbering=TEXT -h=TEXT
        --header-numbering=TEXT -i=NUMBER --line-increment=NUMBER -l=NUMBER --join-blank-lines=NUMBER
        -n=ln|rn|rz --number-format=ln|rn|rz -p --no-renumber -s=TEXT --number-separator=TEXT -v=NUMBER
        --starting-line-number=NUMBER -w=NUMBER --number-width=NUMBER
        """,
        operands="READ...",
    ),
    "wc": Program(
        options="""
        -c --bytes -m --chars -l --lines -L --max-line-length -w --words --total=auto|always|only|never
        """,
        operands="SUM...",
        refused={"--files0-from": "reads file names from a file and prints the missing ones"},
    ),
    "od": Program(
        options="""
        -A=d|o|x|n --address-radix=d|o|x|n --endian=big|little -j=COUNT --skip-bytes=COUNT -N=COUNT
        --read-bytes=COUNT -S=COUNT --strings[=COUNT] -t=TEXT --format=TEXT -v --output-duplicates
        -w[=COUNT] --width[=COUNT] -a -b -c -d -f -i -l -o -s -x
        """,
        operands="READ...",
    ),
    "hexdump": _HEXDUMP,
    "hd": _HEXDUMP,
    "xxd": _xxd,
    "base64": _ENCODE,
    "base32": _ENCODE,
    "basenc": Program(
        options="""
        --base64 --base64url --base32 --base32hex --base16 --base2msbf --base2lsbf --z85 -d --decode -i
        --ignore-garbage -w=NUMBER --wrap=NUMBER
        """,
        operands="READ",
    ),
    "strings": Program(
        options="""
        -NUMBER -a --all -f --print-file-name -n=NUMBER --bytes=NUMBER -t=o|d|x --radix=o|d|x -w
        --include-all-whitespace -o -e=TEXT --encoding=TEXT -s=TEXT --output-separator=TEXT
        """,
        operands="READ...",
        check=_no_lists_of_options,
    ),
    "nm": Program(
        options="""
        -a --debug-syms -A -o --print-file-name -C --demangle -D --dynamic -g --extern-only -n -v
        --numeric-sort -p --no-sort -P --portability -r --reverse-sort -S --print-size -s --print-armap -u
        --undefined-only --defined-only --size-sort -W --no-weak -B -f=TEXT --format=TEXT -j --just-symbols
        --no-demangle --quiet --special-syms --synthetic -t=TEXT --radix=TEXT -V
        """,
        operands="READ...",
        check=_no_lists_of_options,
    ),
    "size": Program(
        options="-A -B -G -d -o -x -t --totals --common --format=sysv|berkeley|gnu",
        operands="READ...",
        check=_no_lists_of_options,
    ),
    "readelf": Program(
        options="""
        -a --all -h --file-header -l --program-headers --segments -S --section-headers --sections -g
        --section-groups -t --section-details -e --headers -s --syms --symbols --dyn-syms -n --notes -r
        --relocs -u --unwind -d --dynamic -V --version-info -A --arch-specific -c --archive-index -D
        --use-dynamic -x=TEXT --hex-dump=TEXT -p=TEXT --string-dump=TEXT -I --histogram -W --wide -C
        --demangle
        """,
        operands="READ...",
        check=_no_lists_of_options,
    ),
    "objdump": Program(
        options="""
        -a --archive-headers -f --file-headers -p --private-headers -h --headers --section-headers -x
        --all-headers -d --disassemble -D --disassemble-all -s --full-contents -t --syms -T --dynamic-syms -r
        --reloc -R --dynamic-reloc -j=TEXT --section=TEXT -C --demangle -w --wide -z --disassemble-zeroes
        --no-show-raw-insn --start-address=TEXT --stop-address=TEXT
        -M=TEXT --disassembler-options=TEXT --no-addresses -i --info -F --file-offsets
        """,
        operands="READ...",
        check=_no_lists_of_options,
    ),
    "zcat": Program(operands="READ..."),
    "bzcat": Program(operands="READ..."),
    "xzcat": Program(operands="READ..."),
    "zstdcat": Program(operands="READ..."),
    "cmp": Program(
        options="""
        -b --print-bytes -i=TEXT --ignore-initial=TEXT -l --verbose -n=COUNT --bytes=COUNT -s --quiet --silent
        -v
        """,
        operands="READ READ COUNT COUNT",
    ),
    "comm": Program(
        options="""
        -1 -2 -3 --check-order --nocheck-order --output-delimiter=TEXT --total -z --zero-terminated
        """,
        operands="READ READ",
    ),
    "diff": Program(
        options="""
        -NUMBER --normal -q --brief -s --report-identical-files -c -C=NUMBER --context[=NUMBER] -u -U=NUMBER
        --unified[=NUMBER] -e --ed -n --rcs -y --side-by-side -W=NUMBER --width=NUMBER --left-column
        --suppress-common-lines -p --show-c-function -F=PATTERN --show-function-line=PATTERN -L=TEXT
        --label=TEXT -t --expand-tabs -T --initial-tab --tabsize=NUMBER --suppress-blank-empty -r
        --recursive --no-dereference -N --new-file -P --unidirectional-new-file --ignore-file-name-case
        --no-ignore-file-name-case -x=PATTERN --exclude=PATTERN -X=READ --exclude-from=READ -S=TEXT
        --starting-file=TEXT --from-file=READ --to-file=READ -i --ignore-case -E --ignore-tab-expansion -Z
        --ignore-trailing-space -b --ignore-space-change -w --ignore-all-space -B --ignore-blank-lines
        -I=PATTERN --ignore-matching-lines=PATTERN -a --text --strip-trailing-cr -D=TEXT --ifdef=TEXT -d
        --minimal --horizon-lines=NUMBER --speed-large-files --color[=always|never|auto] -v --palette=TEXT
        --line-format=TEXT --old-line-format=TEXT --new-line-format=TEXT --unchanged-line-format=TEXT
        --old-group-format=TEXT --new-group-format=TEXT --unchanged-group-format=TEXT
        --changed-group-format=TEXT
        """,
        operands="READ...",
        refused={"-l --paginate": "starts another program"},
        check=_not_everything,
    ),
    "diff3": Program(
        options="""
        -A --show-all -e --ed -E --show-overlap -3 --easy-only -x --overlap-only -X -i -m --merge -a --text
        --strip-trailing-cr -T --initial-tab -L=TEXT --label=TEXT -v
        """,
        operands="READ READ READ",
        refused={"--diff-program": "names a program to run"},
    ),
    "sdiff": Program(
        options="""
        -i --ignore-case -E --ignore-tab-expansion -Z --ignore-trailing-space -b --ignore-space-change -W
        --ignore-all-space -B --ignore-blank-lines -I=PATTERN --ignore-matching-lines=PATTERN
        --strip-trailing-cr -a --text -w=NUMBER --width=NUMBER -l --left-column -s --suppress-common-lines -t
        --expand-tabs --tabsize=NUMBER -d --minimal -H --speed-large-files -v
        """,
        operands="READ READ",
        refused={"-o --output": "writes a file", "--diff-program": "names a program to run"},
        check=_in_the_other,
    ),
    "iconv": Program(
        options="-f=TEXT --from-code=TEXT -t=TEXT --to-code=TEXT -l --list -c -s --silent --verbose -V",
        operands="READ...",
        refused={"-o --output": "writes a file"},
        check=_no_charmaps,
    ),
    "man": Program(
        options="-k --apropos -f --whatis -w --where --path -a --all -s=TEXT -S=TEXT -i -I -P=TEXT "
        "--pager=TEXT",
        operands="TEXT...",
        refused={"-H --html": "names a program to run", "-l --local-file": "renders a file"},
        check=_only_names,
    ),
    "whatis": Program(options="-d -r --regex -w --wildcard -l --long -s=TEXT", operands="TEXT..."),
    "apropos": Program(
        options="-d -e --exact -r --regex -w --wildcard -a --and -l --long -s=TEXT", operands="TEXT..."
    ),
}
