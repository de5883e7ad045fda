"""git: which files a subcommand shows, by its operands and by options that choose among them."""

from __future__ import annotations

import posixpath
import re

from errands.judge.programs.entry import ask, ask_each
from errands.judge.programs.git_options import DIFF
from errands.judge.programs.globs import Glob
from errands.judge.programs.hunting import about_keys, seeks_secrets
from errands.judge.programs.name_patterns import AMONG, begins_like_a_name, is_only_possible, may_name_secret
from errands.judge.programs.ordinary import is_ordinary
from errands.judge.programs.places import objection_to_place, objection_to_recursion
from errands.judge.programs.search import about_files, about_width, copies_all, hunts_keys, seeks_everywhere
from errands.model.text.regex import is_wild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.judge.programs.entry import Check, Reasons, Usage
    from errands.judge.workspace import Workspace

# The signs before a path that say how to read it, long or short; a colon may end the short ones.
_MAGIC = re.compile(r"^:\([^)]*\)|^:/+:?")
# The third parent of a stash, alone, with the others or by its message: files that were never committed. Some
# file systems ignore case, and so does git in such a name there.
_UNTRACKED = re.compile(r"(?i)(.*\.\.)?(refs/)?stash\b.*\^(-|0*3|@|\{/)")
# A stash, whose history has those files, and the newest commit with some words, which they may be.
_STASH = re.compile(r"(?i)(.*\.\.)?(refs/)?stash($|[@^~:]|\.\.)")
_SOUGHT = re.compile(r":/[^!]")
_RANGE = re.compile(r"\.\.|@\{")
_BRANCHES = ("heads/", "tags/", "remotes/")
_WALKS = frozenset(("git log", "git whatchanged", "git range-diff"))
# These show a stash against the commit that it was made on, unless an option makes them compare it with each
# of its parents (`-m`), or go on to those (`-5`).
_OF_ONE_COMMIT = frozenset(("git show", "git reflog", "git diff-tree"))
# Options that do neither of these.
_STAYING = frozenset(re.split(r"\[?=", option)[0] for option in DIFF.split()) - {"-m", "--diff-merges"}
_STAYING |= frozenset(
    """--pretty --format --oneline --abbrev-commit --no-abbrev-commit --date --relative-date --notes
    --no-notes --decorate --no-decorate --encoding -r --root --no-commit-id -v""".split()
)
# Options of `git log` with which it shows what changed in files.
_PATCHES = """
-p -u --patch -U --unified -W --function-context -c --cc -m --diff-merges --patch-with-stat --patch-with-raw
--binary --word-diff --word-diff-regex --color-words --check -L
""".split()
# What `git stash show` may be told about such files without showing their content.
_NUMBERS = "--stat --numstat --shortstat --name-only --name-status --summary --compact-summary".split()
_NO_CONTENT = frozenset((*_NUMBERS, *"-u --include-untracked --only-untracked --color --no-color".split()))


def shows(use: str, *, skip: int = 0) -> Check:
    """Return a check of the files, and of each `revision:file`, whose content is shown."""

    def check(usage: Usage, workspace: Workspace) -> Reasons:
        # `-L 1,5:file` follows lines of a file.
        traced = [value.rpartition(":")[2] for value in usage.values("-L") if ":" in value]
        chosen = usage.values("--find-object", "--skip-to", "--rotate-to")
        named = (*usage.operands[skip:], *traced, *chosen)
        found = [_objection_to_operand(word, use, workspace) for word in named]
        beginnings = [value for name, value in usage.options if name == "--relative"]
        found += [_objection_to_beginning(word or "./", workspace) for word in beginnings]
        doubtful = _about_doubtful(named, workspace) if use == "READ" and _shows_lines(usage) else ()
        return ask_each(found, "secret") + _about_picked(usage) + _about_stashed(usage) + doubtful

    return check


def _shows_lines(usage: Usage) -> bool:
    """Return whether lines of files are shown, and not only their names or numbers about them."""
    if usage.name == "git cat-file":
        return usage.has("-p")
    if usage.has(*_PATCHES) or usage.name == "git blame":
        return True
    return usage.name not in ("git log", "git reflog") and not usage.has(*_NUMBERS, "--no-patch", "--quiet")


def _about_doubtful(named: Iterable[str], workspace: Workspace) -> Reasons:
    """Object to files whose names do not say that they hold code, texts or plain data."""
    found = []
    for word in named:
        path = _MAGIC.sub("", word)
        path = path.partition(":")[2] if path == word and ":" in word else path
        # Without a colon, what has no ending is rather a branch than a file.
        name = word.rpartition("/")[2]
        is_file = path != word or ("." in name.rstrip(".") and not _RANGE.search(word))
        if is_file and path[:1] not in ("!", "^", "/") and not is_wild(path):
            found.append(None if is_ordinary(path, workspace) else f"shows {word}, {AMONG}")
    return ask_each(found, "settings")


def _about_stashed(usage: Usage) -> Reasons:
    """Object to a history with patches that may reach what a stash has of files that were never committed."""
    if usage.name in ("git log", "git whatchanged", "git reflog") and not usage.has(*_PATCHES):
        return ()
    walks = usage.name in _WALKS or (usage.name in _OF_ONE_COMMIT and _goes_on(usage))
    shown = [word for word in usage.operands if _SOUGHT.match(word)]
    shown += [word for word in usage.operands if (walks or ".." in word) and _STASH.match(word)]
    shown += [name for name, _ in usage.options if walks and name in ("--all", "--reflog")]
    shown += [
        f"--glob={value}"
        for value in usage.values("--glob")
        if walks and not value.removeprefix("refs/").startswith(_BRANCHES)
    ]
    found = (f"shows files of a stash that may never have been committed: {each}" for each in shown)
    return ask_each(found, "settings")[:1]


def _goes_on(usage: Usage) -> bool:
    """Return whether a command that shows single commits also goes on to their parents."""
    is_range = any(word.startswith("^") for word in usage.operands)
    return is_range or any(name not in _STAYING for name, _ in usage.options)


def _about_picked(usage: Usage) -> Reasons:
    """Object to the changes of lines that hold secrets; without a patch only the commits are shown."""
    picked = {"-S": usage.values("-S"), "-G": usage.values("-G")}
    hunted = about_keys(picked["-S"], ["fixed"]) + about_keys(picked["-G"], ["basic", "extended"])
    if hunted or not (usage.has("-p", "-u", "--patch") or usage.name in ("git show", "git diff")):
        return hunted
    sought = [each for each in picked["-S"] if seeks_secrets(each, ["fixed"])]
    sought += [each for each in picked["-G"] if seeks_secrets(each, ["basic", "extended"])]
    return ask_each((f"looks for secrets in the history: {each}" for each in sought), "settings")


def _objection_to_operand(word: str, use: str, workspace: Workspace) -> str | None:
    # `:!x` and `:^x` exclude files; `:(magic)x` and `revision:x` name them. A backslash is not a part of x.
    if word.startswith((":!", ":^", ":(exclude)")):
        return None
    if _UNTRACKED.match(word):
        return f"shows files of {word} that were never committed, which may hold secrets"
    word = word.replace("\\", "")
    path = _MAGIC.sub("", word)
    if path == word and ":" in word:
        # A date in the revision may contain a colon, and so may the name of a file.
        last = word.rpartition(":")[2]
        path = word.partition(":")[2]
        if last != path and (said := objection_to_place(last, use, workspace)):
            return said
        # Or the colons are those of a character class.
        if is_wild(word) and may_name_secret(word):
            return f"reads {word}, which may match a file with secrets"
    # git expands wildcards itself, and they match a leading dot.
    if is_wild(path):
        if may_name_secret(path) and not begins_like_a_name(path):
            return f"reads {word}, which may match a file with secrets"
        said = objection_to_place(Glob(path), "SEARCH", workspace)
        # Of all files of a kind it sees those that were committed.
        return None if said is None or is_only_possible(Glob(path), said) else said
    return objection_to_place(path, use, workspace)


def _objection_to_beginning(word: str, workspace: Workspace) -> str | None:
    """Object to `--relative=x`, which shows every file whose path begins so, unless x is a directory."""
    if word.endswith("/") or workspace.is_directory(word):
        return objection_to_place(word, "READ", workspace)
    return f"shows every file whose path begins with {word}, which may be one with secrets"


def compares(usage: Usage, workspace: Workspace) -> Reasons:
    """Check what `git diff` compares."""
    # Outside the repository git compares whole directories.
    outside = [word for word in usage.operands if word.startswith(("/", "~")) or word.split("/")[0] == ".."]
    reasons = ask_each((objection_to_recursion(word, workspace) for word in outside), "secret")
    # Outside a repository, git compares directories file by file, with those that it would ignore.
    directories = [word for word in usage.operands if workspace.is_directory(word)]
    if directories and (
        usage.has("--no-index") or (len(directories) > 1 and not _are_ours(directories, workspace))
    ):
        reasons += ask(f"may show every line of every file in {directories[0]}", "secret")
    look_like_files = all("." in word.rpartition("/")[2].strip(".") for word in usage.operands)
    if usage.has("--no-index") and not look_like_files:
        reasons += ask("may compare all files of two directories, those with secrets too", "option")
    return reasons or shows("READ")(usage, workspace)


def _are_ours(directories: Iterable[str], workspace: Workspace) -> bool:
    """Return whether git surely takes these for parts of its repository, and shows only tracked files."""
    places = [workspace.at(posixpath.normpath(posixpath.join(workspace.cwd, each))) for each in directories]
    return all(place.is_same_repository(workspace.cwd) for place in places)


def describes(usage: Usage, workspace: Workspace) -> Reasons:
    """Check the files of `git status`, which shows their changes when it is verbose."""
    return shows("READ")(usage, workspace) if usage.has("-v", "--verbose") else ()


def unstashes(usage: Usage, workspace: Workspace) -> Reasons:
    """Check what `git stash show` shows; to it `-u` means files that git does not follow."""
    is_whole = usage.has("-u", "--include-untracked", "--only-untracked")
    if is_whole and any(name not in _NO_CONTENT for name, _ in usage.options):
        return ask("shows files that were never committed, which may hold secrets", "secret")
    return shows("READ")(usage, workspace)


def searches(usage: Usage, workspace: Workspace) -> Reasons:
    """Check the files that `git grep` searches; its first operand is a pattern."""
    if usage.has("--no-exclude-standard"):
        return ask("searches files that git ignores, which may hold secrets", "secret")
    skip = 0 if usage.has("-e", "-f") else 1
    places = [word for word in usage.operands[skip:] if word != "--"]
    everything = copies_all(usage) if usage.has("--untracked") else ()
    wide = about_width(usage, places, workspace) if usage.has("--untracked") else ()
    sought = seeks_everywhere(usage, places, workspace)
    # Without a path it searches the current directory, which no operand names.
    here = ask_each([objection_to_place(".", "SEARCH", workspace)], "secret")
    shown = about_files(usage, [word for word in usage.operands[skip:] if "." in word.strip("./")], workspace)
    secret = everything or hunts_keys(usage) or here or shows("SEARCH", skip=skip)(usage, workspace)
    return (*secret, *wide) or sought or shown
