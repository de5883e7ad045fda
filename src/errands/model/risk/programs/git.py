"""git: the subcommands that only read, and only in a repository whose configuration runs no program."""

from __future__ import annotations

import re

from errands.model.risk.programs.entry import Program
from errands.model.risk.programs.git_options import COLOUR, COMMITS, DIFF, LOG, REFERENCES, REFUSED
from errands.model.risk.programs.places import (
    may_name_secret,
    objection_to_place,
    objection_to_recursion,
)
from errands.model.risk.programs.usage import reasons_by_entry
from errands.model.risk.programs.words import WILDCARDS, Glob
from errands.model.risk.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.risk.programs.entry import Check, Entry
    from errands.model.risk.programs.usage import Usage
    from errands.model.risk.surroundings import Surroundings

_GLOBAL = frozenset(
    """
    --no-pager -P --no-optional-locks --no-replace-objects --literal-pathspecs --glob-pathspecs
    --noglob-pathspecs --icase-pathspecs --no-lazy-fetch --no-advice
    """.split()
)
_GLOBAL_REFUSED = {
    "-c": "sets configuration, which can run programs",
    "--config-env": "sets configuration, which can run programs",
    "-C": "works in another directory, whose configuration can run programs",
    "--git-dir": "works on another repository, whose configuration can run programs",
    "--work-tree": "works on another directory",
    "--exec-path": "takes git's own programs from elsewhere",
    "-p": "starts the configured pager",
    "--paginate": "starts the configured pager",
    "--bare": "changes which repository is meant",
    "--namespace": "changes which references are meant",
}
# Settings that hold no secret and name no program.
_SETTINGS = re.compile(
    r"(user\.(name|email)|init\.defaultbranch|pull\.(rebase|ff)|push\.(default|autosetupremote)|merge\.ff|"
    r"core\.(autocrlf|bare|eol|filemode|ignorecase|logallrefupdates|precomposeunicode|quotepath|"
    r"repositoryformatversion|safecrlf|symlinks|whitespace|excludesfile|attributesfile|worktree|abbrev)|"
    r"branch\.[^\s]+\.(remote|merge|rebase|description)|remote\.[^\s]+\.(url|fetch|pushurl)|remote\.pushdefault|"
    r"color\.[a-z.]+|rebase\.auto[a-z]+|fetch\.prune|commit\.gpgsign|diff\.(renames|algorithm)|submodule\.recurse)",
    re.IGNORECASE,
)


def reasons_for_git(words: tuple[str, ...], surroundings: Surroundings) -> tuple[Reason, ...]:
    """Judge a whole `git` command."""
    rest = words[1:]
    while rest and rest[0] in _GLOBAL:
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
        return ()
    if rest[0].startswith("-"):
        name = rest[0].partition("=")[0]
        name = name if name.startswith("--") else name[:2]
        said = _GLOBAL_REFUSED.get(name, "is not on the list of its harmless options")
        return (Reason(text=f"`git`: `{name}` {said}", kind="option"),)
    name, rest = rest[0], rest[1:]
    entry = SUBCOMMANDS.get(name)
    if isinstance(entry, dict):
        second = rest[0] if rest else ""
        name, entry = f"{name} {second}".strip(), entry.get(second)
        rest = rest[1:]
    if entry is None:
        return (Reason(text=f"`git {name}` is not on the list of harmless subcommands", kind="program"),)
    reasons = reasons_by_entry(f"git {name}", rest, entry, surroundings)
    if reasons:
        return reasons
    return tuple(
        Reason(text=f"this repository makes git run programs: {danger}", kind="program")
        for danger in surroundings.git_dangers(surroundings.cwd)
    )


def _shows(use: str, *, skip: int = 0) -> Check:
    """Check the files and `revision:file` among the operands, as far as their content is shown."""

    def check(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
        # `-L 1,5:file` follows lines of a file.
        traced = [value.rpartition(":")[2] for value in usage.values("-L") if ":" in value]
        found = (_objection(word, use, surroundings) for word in (*usage.operands[skip:], *traced))
        return tuple(Reason(text=said, kind="secret") for said in found if said is not None)

    return check


def _objection(word: str, use: str, surroundings: Surroundings) -> str | None:
    # `:!x` and `:^x` leave files out; `:(magic)x` and `revision:x` name them.
    if word.startswith((":!", ":^", ":(exclude)")):
        return None
    path = re.sub(r"^:\([a-z,]*\)|^:/", "", word)
    if path == word and ":" in word:
        # A date in the revision may hold a colon, and so may the name of a file.
        last = word.rpartition(":")[2]
        path = word.partition(":")[2]
        if last != path and (said := objection_to_place(last, use, surroundings)):
            return said
    # git expands wildcards by itself, and lets them match a dot at the beginning.
    if any(mark in path for mark in WILDCARDS):
        if may_name_secret(path):
            return f"reads {word}, which may match a file with secrets"
        return objection_to_place(Glob(path), "SEARCH", surroundings)
    return objection_to_place(path, use, surroundings)


def _diff(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
    # Outside of the repository git compares whole directories.
    outside = [word for word in usage.operands if word.startswith(("/", "~")) or word.split("/")[0] == ".."]
    found = (objection_to_recursion(word, surroundings) for word in outside)
    reasons = tuple(Reason(text=said, kind="secret") for said in found if said is not None)
    return reasons or _shows("READ")(usage, surroundings)


def _grep(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
    return _shows("SEARCH", skip=0 if usage.has("-e", "-f") else 1)(usage, surroundings)


def _lists(*names: str) -> Check:
    """Accept operands only where they are patterns of a list; elsewhere they create something."""

    def check(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
        if not usage.operands or usage.has(*names):
            return ()
        return (Reason(text=f"`{usage.name}` creates or changes {usage.operands[0]}", kind="write"),)

    return check


def _reflog(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
    if usage.operands[:1] and usage.operands[0] in ("expire", "delete", "drop", "write"):
        return (
            Reason(text=f"`git reflog {usage.operands[0]}` changes the reflog", undo="no", kind="delete"),
        )
    return _shows("READ")(usage, surroundings)


def _config(usage: Usage, surroundings: Surroundings) -> tuple[Reason, ...]:
    if usage.operands and _SETTINGS.fullmatch(usage.operands[0]):
        return ()
    return (Reason(text="shows configuration of git, where secrets may be kept", kind="secret"),)


_LISTING = "--list --contains --no-contains --merged --no-merged --points-at".split()
_LOG = Program(options=LOG, operands="TEXT...", refused=REFUSED, helps=False, check=_shows("READ"))
_DIFF = Program(
    options=DIFF + " --cached --staged --merge-base --no-index -1 -2 -3 -0 --base --ours --theirs",
    operands="TEXT...",
    refused=REFUSED,
    helps=False,
    check=_diff,
)
_PLUMBING = Program(
    options=DIFF
    + " -r --root --cached --no-commit-id --pretty[=FORMAT] --format==FORMAT -v --always --merge-base "
    "-q -0 -1 -2 -3 --base --ours --theirs",
    operands="TEXT...",
    refused=REFUSED,
    helps=False,
    check=_shows("READ"),
)
_BLAME = Program(
    options="""
    -b -c -e -f -l -n -p -s -t -w -L=TEXT -M[=NUMBER] -C[=NUMBER] --root --show-stats --date=TEXT --since=TEXT
    --porcelain --line-porcelain --incremental --score-debug --show-name --show-number --show-email --long
    --no-progress --color-lines --color-by-age --first-parent --minimal --abbrev[=NUMBER] --ignore-rev=TEXT
    --diff-algorithm==TEXT --encoding==TEXT
    """,
    operands="TEXT...",
    refused={"--contents --ignore-revs-file -S": "reads another file"},
    helps=False,
    check=_shows("READ"),
)

SUBCOMMANDS: dict[str, Program | dict[str, Program]] = {
    "status": Program(
        options="""
        -s --short -b --branch --show-stash --no-show-stash --porcelain[=v1|v2|1|2] --long -v --verbose
        -u[=no|normal|all] --untracked-files[=no|normal|all] --ignore-submodules[=none|untracked|dirty|all]
        --ignored[=traditional|no|matching] -z --null --column[=TEXT] --no-column --ahead-behind
        --no-ahead-behind --renames --no-renames --find-renames[=TEXT]
        -M[=TEXT]
        """,
        operands="LOOK...",
        helps=False,
    ),
    "log": _LOG,
    "whatchanged": _LOG,
    "show": _LOG,
    "diff": _DIFF,
    "diff-tree": _PLUMBING,
    "diff-index": _PLUMBING,
    "diff-files": _PLUMBING,
    "range-diff": Program(
        options=DIFF + " --creation-factor==NUMBER --no-dual-color --dual-color --left-only --right-only",
        operands="TEXT...",
        refused=REFUSED,
        helps=False,
    ),
    "branch": Program(
        options=REFERENCES
        + " -a --all -r --remotes -v --verbose -q --quiet --list -l --show-current --abbrev[=NUMBER] "
        "--no-abbrev",
        operands="TEXT...",
        refused={
            "-d -D --delete": "deletes branches",
            "-m -M --move -c -C --copy": "renames or copies branches",
            "-f --force": "moves a branch",
            "-u --set-upstream-to --unset-upstream -t --track": "changes what a branch follows",
            "--edit-description": "starts an editor",
        },
        helps=False,
        check=_lists(*_LISTING),
    ),
    "tag": Program(
        options=REFERENCES + " -l --list -n[=NUMBER]",
        operands="TEXT...",
        refused={"-d --delete": "deletes tags", "-v --verify": "runs the configured signature program"},
        helps=False,
        check=_lists("-l", *_LISTING),
    ),
    "blame": _BLAME,
    "annotate": _BLAME,
    "grep": Program(
        options=f"""
        -NUMBER --cached --untracked --exclude-standard --no-exclude-standard -a --text -i --ignore-case -I
        -r --recursive --no-recursive -w --word-regexp -v --invert-match -h -H --full-name -E
        --extended-regexp -G --basic-regexp -P --perl-regexp -F --fixed-strings -n --line-number --column -l
        --files-with-matches --name-only -L --files-without-match -z --null -o --only-matching -c --count
        {COLOUR} --break --heading -p --show-function -A=NUMBER --after-context=NUMBER -B=NUMBER
        --before-context=NUMBER -C=NUMBER --context=NUMBER -W --function-context -m=NUMBER
        --max-count=NUMBER --max-depth=NUMBER --threads=NUMBER -e=TEXT --and --or --not --all-match -q
        --quiet
        """,
        operands="TEXT...",
        refused=REFUSED
        | {
            "-O --open-files-in-pager": "opens what it finds in a program",
            "-f": "reads patterns from a file",
            "--no-index": "searches outside the repository",
            "--recurse-submodules": "follows other repositories",
        },
        helps=False,
        check=_grep,
    ),
    "ls-files": Program(
        options="""
        -c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u --unmerged -k --killed
        -t -v -f -z --directory --no-empty-directory --eol --full-name --error-unmatch --exclude-standard
        -x=TEXT --exclude=TEXT --exclude-per-directory==TEXT --abbrev[=NUMBER] --deduplicate --debug
        --sparse --format==FORMAT --resolve-undo --with-tree==TEXT
        """,
        operands="TEXT...",
        refused={"-X --exclude-from": "reads patterns from a file"},
        helps=False,
    ),
    "ls-tree": Program(
        options="-d -r -t -l --long -z --name-only --name-status --object-only --full-name --full-tree "
        "--abbrev[=NUMBER] --format==FORMAT",
        operands="TEXT...",
        helps=False,
    ),
    "rev-parse": Program(
        options="""
        --abbrev-ref[=strict|loose] --short[=NUMBER] --show-toplevel --show-prefix --show-cdup --git-dir
        --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository
        --is-shallow-repository --verify -q --quiet --symbolic --symbolic-full-name --all --branches[=TEXT]
        --tags[=TEXT] --remotes[=TEXT] --glob==TEXT --exclude==TEXT --show-object-format[=TEXT]
        --show-superproject-working-tree --git-path=TEXT --path-format==absolute|relative --show-ref-format
        --revs-only --no-revs --flags --no-flags --default=TEXT --sq --not --since==DATE --after==DATE
        --until==DATE --before==DATE --local-env-vars --shared-index-path
        """,
        operands="TEXT...",
        helps=False,
    ),
    "describe": Program(
        options="""
        --all --tags --contains --abbrev==NUMBER --candidates==NUMBER --exact-match --debug --long
        --match=TEXT --exclude=TEXT --always --first-parent --dirty[=TEXT] --broken[=TEXT]
        """,
        operands="TEXT...",
        helps=False,
    ),
    "shortlog": Program(
        options=COMMITS + " -s --summary -n --numbered -e --email -c --committer -w[=TEXT] --group==TEXT",
        operands="TEXT...",
        refused=REFUSED,
        helps=False,
    ),
    "reflog": Program(options=LOG, operands="TEXT...", refused=REFUSED, helps=False, check=_reflog),
    "stash": {
        "list": _LOG,
        "show": Program(
            options=DIFF + " --include-untracked --only-untracked --no-include-untracked",
            operands="TEXT",
            refused=REFUSED,
            helps=False,
        ),
    },
    "remote": {
        "": Program(helps=False),
        "-v": Program(helps=False),
        "--verbose": Program(helps=False),
        "get-url": Program(options="--push --all", operands="TEXT", helps=False),
    },
    "config": Program(
        options="""
        --get --get-all --global --local --system --worktree --show-origin --show-scope --name-only --bool
        --int --bool-or-int --path --type==bool|int|path|bool-or-int -z --null --default=TEXT
        """,
        operands="TEXT",
        refused={
            "-l --list": "shows all configuration, where secrets may be kept",
            "-e --edit": "starts an editor",
            "--add --unset --unset-all --replace-all": "changes configuration",
            "--rename-section --remove-section": "changes configuration",
        },
        helps=False,
        check=_config,
    ),
    "cat-file": Program(
        options="-t -s -e -p",
        operands="TEXT TEXT",
        refused=REFUSED | {"--filters": "runs the configured filters"},
        helps=False,
        check=_shows("READ"),
    ),
    "rev-list": Program(
        options=COMMITS
        + " --objects --objects-edge --disk-usage[=human] --quiet --abbrev[=NUMBER] --use-bitmap-index "
        "--object-names --no-object-names --unsorted-input --bisect-all --bisect-vars",
        operands="TEXT...",
        refused=REFUSED,
        helps=False,
    ),
    "merge-base": Program(
        options="-a --all --octopus --independent --is-ancestor --fork-point", operands="TEXT...", helps=False
    ),
    "name-rev": Program(
        options="--tags --refs==TEXT --exclude==TEXT --all --name-only --no-undefined --always",
        operands="TEXT...",
        helps=False,
    ),
    "for-each-ref": Program(
        options=REFERENCES + " --count==NUMBER -s --shell -p --perl --python --tcl --exclude==TEXT",
        operands="TEXT...",
        helps=False,
    ),
    "show-ref": Program(
        options="""
        --heads --branches --tags --head -d --dereference -s --hash[=NUMBER] --verify --abbrev[=NUMBER] -q
        --quiet --exists
        """,
        operands="TEXT...",
        helps=False,
    ),
    "show-branch": Program(
        options=f"-a --all -r --remotes --current --topo-order --date-order --sparse --more==NUMBER --list "
        f"--merge-base --independent --no-name --sha1-name --topics {COLOUR}",
        operands="TEXT...",
        helps=False,
    ),
    "count-objects": Program(options="-v --verbose -H --human-readable", helps=False),
    "check-ignore": Program(
        options="-q --quiet -v --verbose -n --non-matching -z --no-index --stdin",
        operands="TEXT...",
        helps=False,
    ),
    "check-attr": Program(options="-a --all --cached -z --source==TEXT", operands="TEXT...", helps=False),
    "check-ref-format": Program(
        options="--normalize --branch --allow-onelevel --no-allow-onelevel --refspec-pattern",
        operands="TEXT",
        helps=False,
    ),
    "check-mailmap": Program(operands="TEXT...", helps=False),
    "cherry": Program(options="-v --abbrev[=NUMBER] --verbose", operands="TEXT TEXT TEXT", helps=False),
    "worktree": {"list": Program(options="-v --verbose --porcelain -z", helps=False)},
    "notes": {"list": Program(operands="TEXT", helps=False), "show": Program(operands="TEXT", helps=False)},
    "bisect": {"log": Program(helps=False)},
    "sparse-checkout": {"list": Program(helps=False)},
    "symbolic-ref": Program(options="-q --quiet --short", operands="TEXT", helps=False),
    "var": Program(
        operands="GIT_AUTHOR_IDENT|GIT_COMMITTER_IDENT|GIT_EDITOR|GIT_PAGER|GIT_DEFAULT_BRANCH", helps=False
    ),
    "fsck": Program(
        options="--full --strict --no-dangling --dangling --unreachable --no-progress --connectivity-only "
        "--name-objects --root --tags --cache --no-reflogs -v --verbose",
        operands="TEXT...",
        refused={"--lost-found": "writes files into the repository"},
        helps=False,
    ),
}

PROGRAMS: dict[str, Entry] = {"git": reasons_for_git}
