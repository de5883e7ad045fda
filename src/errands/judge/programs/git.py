"""git: the subcommands that only read, and only in a repository whose configuration runs no program."""

from __future__ import annotations

from errands.judge.programs.entry import Program
from errands.judge.programs.git_checks import (
    compares,
    lists,
    reads_reflog,
    reads_setting,
    searches,
    shows,
)
from errands.judge.programs.git_options import COLOUR, COMMITS, DIFF, LOG, REFERENCES, REFUSED
from errands.judge.programs.usage import reasons_by_entry
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry
    from errands.judge.surroundings import Surroundings

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


_LISTING = "--list --contains --no-contains --merged --no-merged --points-at".split()
_LOG = Program(options=LOG, operands="TEXT...", refused=REFUSED, helps=False, check=shows("READ"))
_DIFF = Program(
    options=DIFF + " --cached --staged --merge-base --no-index -1 -2 -3 -0 --base --ours --theirs",
    operands="TEXT...",
    refused=REFUSED,
    helps=False,
    check=compares,
)
_PLUMBING = Program(
    options=DIFF
    + " -r --root --cached --no-commit-id --pretty[=FORMAT] --format==FORMAT -v --always --merge-base "
    "-q -0 -1 -2 -3 --base --ours --theirs",
    operands="TEXT...",
    refused=REFUSED,
    helps=False,
    check=shows("READ"),
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
    check=shows("READ"),
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
        check=shows("READ"),
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
        check=lists(*_LISTING),
    ),
    "tag": Program(
        options=REFERENCES + " -l --list -n[=NUMBER]",
        operands="TEXT...",
        refused={"-d --delete": "deletes tags", "-v --verify": "runs the configured signature program"},
        helps=False,
        check=lists("-l", *_LISTING),
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
        check=searches,
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
    "reflog": Program(options=LOG, operands="TEXT...", refused=REFUSED, helps=False, check=reads_reflog),
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
        check=reads_setting,
    ),
    "cat-file": Program(
        options="-t -s -e -p",
        operands="TEXT TEXT",
        refused=REFUSED | {"--filters": "runs the configured filters"},
        helps=False,
        check=shows("READ"),
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
