"""The programs that the judge knows: which uses of them are harmless, and what the others would do.

There is one module of tables per family of programs. `reasons_for` judges one simple command, given as the
words that the program gets; no reason means harmless. Shell syntax is handled elsewhere.
"""

from __future__ import annotations

from errands.judge.programs.entry import Program, ask, ask_each, objection_to_home
from errands.judge.programs.globs import Glob
from errands.judge.programs.usage import objection, read, reasons_by_entry
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry, Reasons
    from errands.judge.workspace import Workspace
    from errands.model.verdict import Reason

# The module that knows each program, imported when the program is met: most lines need one or two.
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
            bc factor look
        """,
        "search": "grep egrep fgrep rg",
        "names": "fd fdfind whereis which type locate",
        "sed": "sed gsed",
        "awk": "awk gawk mawk nawk",
        "structured": "jq yq",
        "shell": """
            echo true false : printf test [ sleep expr printenv command pwd exit umask ulimit times help jobs
            dirs bash sh dash
        """,
        "system": """
            uname arch whoami logname hostid tty users groups id who w hostname uptime nproc
            free date cal ps pgrep pidof pstree top lscpu lsblk lsmem lsusb lspci lsmod findmnt vmstat
            iostat mpstat dmesg ss netstat ip ifconfig locale getconf lsb_release sw_vers
        """,
        "git": "git",
        "testing": "pytest py.test python python3 uv",
        "archives": "tar unzip zipinfo gzip gunzip xz unxz bzip2 bunzip2",
        "tools": "pip pip3 dpkg dpkg-query",
        "find": "find gfind",
    }.items()
    for name in names.split()
}

_SEARCHING = frozenset("grep egrep fgrep rg".split())
_PICKING = frozenset("sed gsed awk gawk mawk nawk".split())
_BETWEEN = regex(r"/([^/]+)/")
# Subcommands of git that show what files hold or held.
_STORED = frozenset("log show diff stash cat-file blame grep".split())
# Programs of which only these single words are accepted. Missing are those that load code or fetch something
# even to print their version: cargo, go, yarn, pnpm, composer, tox, flake8, pylint, terraform, julia,
# elixir; gcloud writes.
VERSIONS = {
    name: frozenset(words.split())
    for names, words in {
        "node deno bun": "--version -v",
        "npm npx": "--version -v",
        "ruby gem php perl lua luajit": "--version -v",
        # With `-v` these run what they read, or a file of that name.
        "ghc swift Rscript R": "--version",
        "java javac": "--version -version",
        "gcc g++ cc c++ clang clang++ gfortran": "--version -v -dumpversion -dumpmachine",
        "as cmake ninja ocaml swiftc": "--version",
        "ld gdb make gmake meson nasm tsc": "--version -v",
        "bash zsh dash fish ksh": "--version",
        "ruff black mypy isort nox coverage pipenv hatch pre-commit": "--version",
        "docker podman helm gh aws psql mysql sqlite3 redis-cli": "--version",
        "curl wget ssh rsync tmux nano less more": "--version -V",
        # With `-V` editors start, and take commands from their input.
        "vim nvim emacs screen watch": "--version",
        "rm cp mv ln mkdir rmdir touch chmod chown tee dd truncate shred split csplit": "--help --version",
        "timeout nice nohup stdbuf setsid": "--version",
        "gpg openssl zip bc dc ffmpeg convert pandoc": "--version",
        "apt apt-get dpkg rpm flatpak": "--version",
    }.items()
    for name in names.split()
}


def entry_for(name: str) -> Entry | None:
    """Return what the tables say about a program, given by its bare name."""
    if name.startswith("python3.") and name[8:].isdigit():
        name = "python3"
    family = FAMILIES.get(name)
    if family is None:
        return None
    found: Entry = __import__(f"{__name__}.{family}", fromlist=("PROGRAMS",)).PROGRAMS[name]
    return found


def reasons_for(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    """Return why a person must be asked about this command; () if it is harmless."""
    reasons = _reasons_by_tables(words, workspace)
    if not reasons or any(reason.kind == "delete" for reason in reasons):
        return reasons
    from errands.judge.programs.deleting import deletion_of  # needed only when there is something to ask

    deletion = deletion_of(words)
    return (deletion, *reasons) if deletion else reasons


def _reasons_by_tables(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    name = words[0]
    if "/" in name:
        runs = ask(f"runs the file {name}", "script")
        harm = _harm((name.rpartition("/")[2], *words[1:]))
        return (harm, *runs) if harm else runs
    if len(words) == 2 and words[1] in VERSIONS.get(name, ()):
        # Some read settings, or load packages, before they look at their options.
        return objection_to_home(name, workspace)
    entry = entry_for(name)
    if entry is None:
        harm = _harm(words)
        return (harm,) if harm else ask(f"`{name}` is not on the list of harmless programs", "program")
    if isinstance(entry, Program):
        reasons = reasons_by_entry(name, words[1:], entry, workspace)
    else:
        reasons = entry(words, workspace)
    # A known harm says more than the option or subcommand that is missing from a table.
    if reasons and (harm := _harm(words)):
        return (harm, *(reason for reason in reasons if reason.kind != "program"))
    return reasons or _shown_names(words, workspace)


def _shown_names(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    """Return why the shell must not put the names of files into a command: `echo ~/.ssh/*` lists them."""
    found = (objection("LOOK", word, workspace) for word in words if isinstance(word, Glob))
    return tuple(reason for reason in found if reason)


def reasons_for_reading(path: str, workspace: Workspace) -> Reasons:
    """Return why a person must be asked before this file is read; () if it may be read freely."""
    reason = objection("READ", path, workspace)
    return (reason,) if reason else ()


def reasons_for_pipe(words: tuple[str, ...], source: tuple[str, ...], workspace: Workspace) -> Reasons:
    """Return why a command is not given the output of another: it looks for secrets in what git shows."""
    if source[:1] != ("git",) or _STORED.isdisjoint(source) or not words:
        return ()
    if words[0] in _SEARCHING:
        from errands.judge.programs.search import PROGRAMS, looks_for_secrets

        return looks_for_secrets(read(words[0], words[1:], PROGRAMS[words[0]], workspace))
    if words[0] in _PICKING:
        from errands.judge.programs.hunting import seeks_secrets

        patterns = (found for word in words[1:] for found in _BETWEEN.findall(word))
        found = (
            f"looks for secrets in the history: {each}"
            for each in patterns
            if seeks_secrets(each, ["extended"])
        )
        return ask_each(found, "settings")[:1]
    return ()


def is_secret(path: str, workspace: Workspace) -> bool:
    """Return whether a file holds secrets, and not only settings that may have some among them."""
    return any(reason.kind not in ("settings", "glob") for reason in reasons_for_reading(path, workspace))


def _harm(words: tuple[str, ...]) -> Reason | None:
    from errands.judge.programs.harms import harm_of  # needed only when there is something to ask

    return harm_of(words)
