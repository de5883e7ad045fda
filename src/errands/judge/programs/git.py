"""git: the subcommands that only read, and only in a repository whose configuration runs no program."""

from __future__ import annotations

import posixpath

from errands.judge.programs.entry import Program, ask, ask_each, unlisted
from errands.judge.programs.git_options import (
    COLOUR,
    COMMITS,
    DIFF,
    GLOBAL,
    GLOBAL_REFUSED,
    LOG,
    REFERENCES,
    REFUSED,
    SETTINGS,
)
from errands.judge.programs.git_shown import compares, describes, searches, shows, unstashes
from errands.judge.programs.globs import Glob
from errands.judge.programs.places import is_inside
from errands.judge.programs.usage import reasons_by_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.judge.programs.entry import Check, Entry, Reasons, Usage
    from errands.judge.workspace import Workspace


def reasons_for_git(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    """Judge a whole `git` command."""
    reasons, there = about_words(words, workspace)
    if reasons or there is None:
        return reasons
    return ask_each(
        (f"this repository makes git run programs: {danger}" for danger in there.git_dangers(there.cwd)),
        "program",
    )


def about_words(words: tuple[str, ...], workspace: Workspace) -> tuple[Reasons, Workspace | None]:
    """Return what speaks against a `git` command by its words, and where its repository is."""
    rest = words[1:]
    if rest[:1] == ("-C",) and len(rest) > 2 and (there := _elsewhere(rest[1], workspace)):
        rest, workspace = rest[2:], there
    while rest and rest[0] in GLOBAL:
        rest = rest[1:]
    if rest in (
        (),
        ("--version",),
        ("-v",),
        ("version",),
        ("version", "--build-options"),
        ("--help",),
        ("help",),
    ):
        return (), None
    if rest[0].startswith("-"):
        name = rest[0].partition("=")[0]
        name = name if name.startswith("--") else name[:2]
        said = GLOBAL_REFUSED.get(name)
        return ask(f"`git`: `{name}` {said}", "option") if said else unlisted("git", name), None
    name, rest = rest[0], rest[1:]
    entry = SUBCOMMANDS.get(name)
    if isinstance(entry, dict):
        second = rest[0] if rest else ""
        name, entry = f"{name} {second}".strip(), entry.get(second)
        rest = rest[1:]
    if entry is None:
        return ask(f"`git {name}` is not on the list of harmless subcommands", "program"), None
    return reasons_by_entry(f"git {name}", rest, entry, workspace), workspace


def _elsewhere(directory: str, workspace: Workspace) -> Workspace | None:
    """Return the workspace of `-C`, if it is a directory of the project in the same repository."""
    if isinstance(directory, Glob) or not directory or directory.startswith(("-", "~")):
        return None
    there = workspace.at(posixpath.normpath(posixpath.join(workspace.cwd, directory)))
    is_ours = is_inside(directory, workspace) and there.is_same_repository(workspace.cwd)
    return there if is_ours else None


# What the tables cannot express: when an operand changes something.


def _lists(*names: str) -> Check:
    """Return a check that accepts operands only as patterns of a list; otherwise they create something."""

    def check(usage: Usage, workspace: Workspace) -> Reasons:
        if not usage.operands or usage.has(*names):
            return ()
        return ask(f"`{usage.name}` creates or changes {usage.operands[0]}", "write")

    return check


def _reads_reflog(usage: Usage, workspace: Workspace) -> Reasons:
    """Accept `git reflog` as long as it shows the reflog."""
    if usage.operands[:1] and usage.operands[0] in ("expire", "delete", "drop", "write"):
        return ask(f"`git reflog {usage.operands[0]}` changes the reflog", "delete", "no")
    return shows("READ")(usage, workspace)


def _shows_addresses(usage: Usage, workspace: Workspace) -> Reasons:
    """Accept the addresses of remotes, unless there is a password in one."""
    if workspace.git_has_passwords(workspace.cwd):
        return ask("shows addresses of remotes, one of which has a password or a token in it", "settings")
    return ()


def _reads_setting(usage: Usage, workspace: Workspace) -> Reasons:
    """Accept `git config` for one setting that holds no secret."""
    if usage.operands and SETTINGS.fullmatch(usage.operands[0]):
        return _shows_addresses(usage, workspace) if "remote" in usage.operands[0].lower() else ()
    return ask("shows git's configuration, where secrets may be kept", "secret")


# The subcommands


def _git(options: str = "", operands: str = "", **more: Any) -> Program:
    return Program(options=options, operands=operands, helps=False, **more)


_LISTING = "--list --contains --no-contains --merged --no-merged --points-at".split()
_LOG = _git(LOG, "TEXT...", refused=REFUSED, check=shows("READ"))
_DIFF = _git(
    DIFF + " --cached --staged --merge-base --no-index -1 -2 -3 -0 --base --ours --theirs",
    "TEXT...",
    refused=REFUSED,
    check=compares,
)
_PLUMBING = _git(
    DIFF + " -r --root --cached --no-commit-id --pretty[=FORMAT] --format==FORMAT -v --always --merge-base "
    "-q -0 -1 -2 -3 --base --ours --theirs",
    "TEXT...",
    refused=REFUSED,
    check=shows("READ"),
)
_BLAME = _git(
    """
    -b -c -e -f -l -n -p -s -t -w -L=TEXT -M[=NUMBER] -C[=NUMBER] --root --show-stats --date=TEXT --since=TEXT
    --porcelain --line-porcelain --incremental --score-debug --show-name --show-number --show-email --long
    --no-progress --color-lines --color-by-age --first-parent --minimal --abbrev[=NUMBER] --ignore-rev=TEXT
    --diff-algorithm==TEXT --encoding==TEXT
    """,
    "TEXT...",
    refused={"--contents --ignore-revs-file -S": "reads another file"},
    check=shows("READ"),
)

SUBCOMMANDS: dict[str, Program | dict[str, Program]] = {
    "status": _git(
        """
        -s --short -b --branch --show-stash --no-show-stash --porcelain[=v1|v2|1|2] --long -v --verbose
        -u[=no|normal|all] --untracked-files[=no|normal|all] --ignore-submodules[=none|untracked|dirty|all]
        --ignored[=traditional|no|matching] -z --null --column[=TEXT] --no-column --ahead-behind
        --no-ahead-behind --renames --no-renames --find-renames[=TEXT]
        -M[=TEXT]
        """,
        "LOOK...",
        check=describes,
    ),
    "log": _LOG,
    "whatchanged": _LOG,
    "show": _LOG,
    "diff": _DIFF,
    "diff-tree": _PLUMBING,
    "diff-index": _PLUMBING,
    "diff-files": _PLUMBING,
    "range-diff": _git(
        DIFF + " --creation-factor==NUMBER --no-dual-color --dual-color --left-only --right-only",
        "TEXT...",
        refused=REFUSED,
        check=shows("READ"),
    ),
    "branch": _git(
        REFERENCES
        + " -a --all -r --remotes -v --verbose -q --quiet --list -l --show-current --abbrev[=NUMBER] "
        "--no-abbrev",
        "TEXT...",
        refused={
            "-d -D --delete": "deletes branches",
            "-m -M --move -c -C --copy": "renames or copies branches",
            "-f --force": "moves a branch",
            "-u --set-upstream-to --unset-upstream -t --track": "changes the upstream of a branch",
            "--edit-description": "starts an editor",
        },
        check=_lists(*_LISTING),
    ),
    "tag": _git(
        REFERENCES + " -l --list -n[=NUMBER]",
        "TEXT...",
        refused={"-d --delete": "deletes tags", "-v --verify": "runs the configured signature program"},
        check=_lists("-l", *_LISTING),
    ),
    "blame": _BLAME,
    "annotate": _BLAME,
    "grep": _git(
        f"""
        -NUMBER --cached --untracked --exclude-standard --no-exclude-standard -a --text -i --ignore-case -I
        -r --recursive --no-recursive -w --word-regexp -v --invert-match -h -H --full-name -E
        --extended-regexp -G --basic-regexp -P --perl-regexp -F --fixed-strings -n --line-number --column -l
        --files-with-matches --name-only -L --files-without-match -z --null -o --only-matching -c --count
        {COLOUR} --break --heading -p --show-function -A=NUMBER --after-context=NUMBER -B=NUMBER
        --before-context=NUMBER -C=NUMBER --context=NUMBER -W --function-context -m=NUMBER
        --max-count=NUMBER --max-depth=NUMBER --threads=NUMBER -e=TEXT --and --or --not --all-match -q
        --quiet
        """,
        "TEXT...",
        refused=REFUSED
        | {
            "-O --open-files-in-pager": "opens the matching files in a program",
            "-f": "reads patterns from a file",
            "--no-index": "searches outside the repository",
            "--recurse-submodules": "searches other repositories",
        },
        check=searches,
    ),
    "ls-files": _git(
        """
        -c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u --unmerged -k --killed
        -t -v -f -z --directory --no-empty-directory --full-name --error-unmatch --exclude-standard
        -x=TEXT --exclude=TEXT --exclude-per-directory==READ --abbrev[=NUMBER] --deduplicate --debug
        --sparse --format==FORMAT --resolve-undo --with-tree==TEXT
        """,
        "TEXT...",
        refused={"-X --exclude-from": "reads patterns from a file"},
    ),
    "ls-tree": _git(
        "-d -r -t -l --long -z --name-only --name-status --object-only --full-name --full-tree "
        "--abbrev[=NUMBER] --format==FORMAT",
        "TEXT...",
    ),
    "rev-parse": _git(
        """
        --abbrev-ref[=strict|loose] --short[=NUMBER] --show-toplevel --show-prefix --show-cdup --git-dir
        --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository
        --is-shallow-repository --verify -q --quiet --symbolic --symbolic-full-name --all --branches[=TEXT]
        --tags[=TEXT] --remotes[=TEXT] --glob==TEXT --exclude==TEXT --show-object-format[=TEXT]
        --show-superproject-working-tree --git-path=TEXT --path-format==absolute|relative --show-ref-format
        --revs-only --no-revs --flags --no-flags --default=TEXT --sq --not --since==DATE --after==DATE
        --until==DATE --before==DATE --local-env-vars --shared-index-path
        """,
        "TEXT...",
    ),
    "describe": _git(
        """
        --all --tags --contains --abbrev==NUMBER --candidates==NUMBER --exact-match --debug --long
        --match=TEXT --exclude=TEXT --always --first-parent --dirty[=TEXT] --broken[=TEXT]
        """,
        "TEXT...",
    ),
    "shortlog": _git(
        COMMITS + " -s --summary -n --numbered -e --email -c --committer -w[=TEXT] --group==KEY",
        "TEXT...",
        refused=REFUSED,
    ),
    "reflog": _git(LOG, "TEXT...", refused=REFUSED, check=_reads_reflog),
    "stash": {
        # Not all of a log: `--boundary` also shows what a stash keeps of files that git ignores.
        "list": _git(
            DIFF + " --oneline --format==FORMAT --pretty[=FORMAT] --date==TEXT -n=NUMBER --max-count==NUMBER "
            "-0 -1 -2 -3 -5",
            refused=REFUSED,
            check=shows("READ"),
        ),
        "show": _git(
            DIFF + " --include-untracked --only-untracked --no-include-untracked",
            "TEXT",
            refused=REFUSED,
            check=unstashes,
        ),
    },
    "remote": {
        "": _git(),
        **dict.fromkeys(("-v", "--verbose"), _git(check=_shows_addresses)),
        "get-url": _git("--push --all", "TEXT", check=_shows_addresses),
    },
    "config": _git(
        """
        --get --get-all --global --local --system --worktree --show-origin --show-scope --name-only --bool
        --int --bool-or-int --path --type==bool|int|path|bool-or-int -z --null --default=TEXT
        """,
        "TEXT",
        refused={
            "-l --list": "shows all configuration, where secrets may be kept",
            "-e --edit": "starts an editor",
            "--add --unset --unset-all --replace-all": "changes configuration",
            "--rename-section --remove-section": "changes configuration",
        },
        check=_reads_setting,
    ),
    "cat-file": _git(
        "-t -s -e -p",
        "TEXT TEXT",
        refused=REFUSED | {"--filters": "runs the configured filters"},
        check=shows("READ"),
    ),
    "rev-list": _git(
        COMMITS
        + " --objects --objects-edge --disk-usage[=human] --quiet --abbrev[=NUMBER] --use-bitmap-index "
        "--object-names --no-object-names --unsorted-input --bisect-all --bisect-vars",
        "TEXT...",
        refused=REFUSED,
    ),
    "merge-base": _git("-a --all --octopus --independent --is-ancestor --fork-point", "TEXT..."),
    "name-rev": _git(
        "--tags --refs==TEXT --exclude==TEXT --all --name-only --no-undefined --always", "TEXT..."
    ),
    "for-each-ref": _git(
        REFERENCES + " --count==NUMBER -s --shell -p --perl --python --tcl --exclude==TEXT", "TEXT..."
    ),
    "show-ref": _git(
        """
        --heads --branches --tags --head -d --dereference -s --hash[=NUMBER] --verify --abbrev[=NUMBER] -q
        --quiet --exists
        """,
        "TEXT...",
    ),
    "show-branch": _git(
        f"-a --all -r --remotes --current --topo-order --date-order --sparse --more==NUMBER --list "
        f"--merge-base --independent --no-name --sha1-name --topics {COLOUR}",
        "TEXT...",
    ),
    "count-objects": _git("-v --verbose -H --human-readable"),
    "check-ignore": _git("-q --quiet -v --verbose -n --non-matching -z --no-index --stdin", "TEXT..."),
    "check-attr": _git("-a --all --cached -z --source==TEXT", "TEXT..."),
    "check-ref-format": _git(
        "--normalize --branch --allow-onelevel --no-allow-onelevel --refspec-pattern", "TEXT"
    ),
    "check-mailmap": _git("", "TEXT..."),
    "cherry": _git("-v --abbrev[=NUMBER] --verbose", "TEXT TEXT TEXT"),
    "worktree": {"list": _git("-v --verbose --porcelain -z")},
    "notes": {"list": _git("", "TEXT"), "show": _git("", "TEXT")},
    "bisect": {"log": _git()},
    "sparse-checkout": {"list": _git()},
    "symbolic-ref": _git("-q --quiet --short", "TEXT"),
    "var": _git("", "GIT_AUTHOR_IDENT|GIT_COMMITTER_IDENT|GIT_EDITOR|GIT_PAGER|GIT_DEFAULT_BRANCH"),
    "fsck": _git(
        "--full --strict --no-dangling --dangling --unreachable --no-progress --connectivity-only "
        "--name-objects --root --tags --cache --no-reflogs -v --verbose",
        "TEXT...",
        refused={"--lost-found": "writes files into the repository"},
    ),
}

PROGRAMS: dict[str, Entry] = {"git": reasons_for_git}
