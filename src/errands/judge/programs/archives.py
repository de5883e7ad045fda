"""Archives and compressed files: only listing, testing and showing them."""

from __future__ import annotations

from errands.judge.programs.entry import Program, ask
from errands.judge.programs.usage import reasons_by_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Check, Entry, Reasons, Usage
    from errands.judge.workspace import Workspace


def _only_with(*names: str, otherwise: str) -> Check:
    def check(usage: Usage, workspace: Workspace) -> Reasons:
        if usage.has(*names):
            return ()
        return ask(f"`{usage.name}` {otherwise}", "write")

    return check


def _lists(usage: Usage, workspace: Workspace) -> Reasons:
    if not usage.has("-t", "--list"):
        return ask("`tar` does more than list an archive", "write")
    archives = usage.values("-f", "--file")
    if len(archives) != 1:
        return ask("`tar` without the name of an archive uses a device", "option")
    if ":" in archives[0] and not usage.has("--force-local"):
        return ask(f"`tar` fetches {archives[0]} from another host", "network")
    return ()


_TAR = Program(
    options="""
    -t --list -f=LIST --file=LIST -v --verbose -z --gzip --gunzip -j --bzip2 -J --xz --zstd --lzma
    --exclude=PATTERN --wildcards --no-wildcards --force-local --full-time --utc --numeric-owner -R
    --block-number --strip-components=NUMBER --totals --quoting-style=TEXT --show-transformed-names
    -a --auto-compress
    """,
    operands="TEXT...",
    refused={
        "-x --extract --get": "extracts files",
        "-c --create -r --append -u --update -A --catenate --concatenate --delete": "writes an archive",
        "-I --use-compress-program --to-command --checkpoint-action": "runs a program",
        "-F --info-script --new-volume-script --rsh-command": "runs a program",
        "--checkpoint": "may run a program",
        "-C --directory": "works in another directory",
        "-T --files-from -X --exclude-from": "reads names from a file",
        "-g --listed-incremental": "writes a file",
    },
    check=_lists,
)


def _tar(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    rest = words[1:]
    # The first word may be a bundle without a dash; its values follow in order, and ours has at most one.
    if rest and not rest[0].startswith("-"):
        bundle = rest[0]
        if bundle.count("f") != 1 or not set(bundle) <= set("tvfzjJR"):
            return ask(f"`tar {bundle}` does more than list an archive", "write")
        rest = ("-" + bundle.replace("f", "") + "f", *rest[1:])
    return reasons_by_entry("tar", rest, _TAR, workspace)


def _keeps_files(usage: Usage, workspace: Workspace) -> Reasons:
    """Accept a command that writes to standard output, lists or tests; of several modes the last wins."""
    if usage.has("-c", "--stdout", "--to-stdout"):
        return ()
    unpacks = usage.has("-d", "--decompress", "--uncompress")
    if usage.has("-l", "--list", "-t", "--test") and not unpacks:
        return ()
    return ask(f"`{usage.name}` replaces files with compressed or decompressed ones", "write")


_UNPACK = Program(
    options="""
    -d --decompress --uncompress -c --stdout --to-stdout -l --list -t --test -v --verbose -q --quiet -k --keep
    -f --force
    """,
    operands="READ...",
    check=_keeps_files,
)

_BUNZIP = Program(
    options="-d --decompress -c --stdout -t --test -v --verbose -q --quiet -k --keep -f --force -s --small",
    operands="READ...",
    check=_keeps_files,
)

PROGRAMS: dict[str, Entry] = {
    "tar": _tar,
    "unzip": Program(
        options="-l -v -t -q -z -Z -1",
        operands="LIST TEXT...",
        # After the archive a word with a dash is the name of a member.
        permutes=False,
        check=_only_with("-l", "-v", "-t", "-z", "-Z", otherwise="extracts files"),
        helps=False,
    ),
    "zipinfo": Program(
        options="-1 -2 -s -m -l -v -h -t -z -T", operands="LIST TEXT...", permutes=False, helps=False
    ),
    "gzip": _UNPACK,
    "gunzip": _UNPACK,
    "xz": _UNPACK,
    "unxz": _UNPACK,
    "bzip2": _BUNZIP,
    "bunzip2": _BUNZIP,
}
