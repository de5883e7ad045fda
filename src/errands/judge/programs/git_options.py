"""Options of git itself, and those that many of its subcommands share.

Missing because they write or run something: --output, --ext-diff, --textconv, --show-signature, -O.
"""

from __future__ import annotations

import re

# Options before the subcommand: harmless ones, and what others do.
GLOBAL = frozenset(
    """
    --no-pager -P --no-optional-locks --no-replace-objects --literal-pathspecs --glob-pathspecs
    --noglob-pathspecs --icase-pathspecs --no-lazy-fetch --no-advice
    """.split()
)
GLOBAL_REFUSED = {
    "-c": "sets configuration, which can run programs",
    "--config-env": "sets configuration, which can run programs",
    "-C": "works in another directory, whose configuration can run programs",
    "--git-dir": "works on another repository, whose configuration can run programs",
    "--work-tree": "works on another directory",
    "--exec-path": "runs git's own programs from another directory",
    "-p": "starts the configured pager",
    "--paginate": "starts the configured pager",
    "--bare": "changes which repository is used",
    "--namespace": "changes which references are used",
}

COLOUR = "--color[=always|never|auto] --no-color"

DIFF = f"""
-p -u --patch -s --no-patch -U[=NUMBER] --unified[=NUMBER] --raw --patch-with-raw --patch-with-stat
--indent-heuristic --no-indent-heuristic --minimal --patience --histogram --anchored==TEXT
--diff-algorithm==patience|minimal|histogram|myers|default --stat[=TEXT] --stat-width==NUMBER
--stat-name-width==NUMBER --stat-count==NUMBER --stat-graph-width==NUMBER --compact-summary --numstat
--shortstat --dirstat[=TEXT] --dirstat-by-file[=TEXT] -X[=TEXT] --cumulative --summary -z --name-only
--name-status --submodule[=short|log] {COLOUR} --color-moved[=TEXT] --no-color-moved --color-moved-ws==TEXT
--no-color-moved-ws --word-diff[=color|plain|porcelain|none] --word-diff-regex==TEXT --color-words[=TEXT]
--no-renames --rename-empty --no-rename-empty --check --ws-error-highlight==TEXT --full-index --binary
--abbrev[=NUMBER] --no-abbrev -B[=TEXT] --break-rewrites[=TEXT] -M[=TEXT] --find-renames[=TEXT] -C[=TEXT]
--find-copies[=TEXT] --find-copies-harder -D --irreversible-delete -l==NUMBER --diff-filter==TEXT -S=TEXT
-G=TEXT --find-object==TEXT --pickaxe-all --pickaxe-regex --skip-to==TEXT --rotate-to==TEXT -R
--relative[=TEXT] --no-relative -a --text --ignore-cr-at-eol --ignore-space-at-eol -b --ignore-space-change
-w --ignore-all-space --ignore-blank-lines -I=TEXT --ignore-matching-lines==TEXT
--inter-hunk-context==NUMBER -W --function-context --exit-code --quiet --no-ext-diff --no-textconv
--ignore-submodules[=none|untracked|dirty|all] --src-prefix==TEXT --dst-prefix==TEXT --no-prefix
--default-prefix --line-prefix==TEXT --ita-invisible-in-index --ita-visible-in-index --combined-all-paths -c
--cc -t -m --diff-merges==off|none|first-parent|1|separate|combined|c|dense-combined|cc --no-diff-merges -q
--output-indicator-new==TEXT --output-indicator-old==TEXT --output-indicator-context==TEXT
"""

COMMITS = """
-NUMBER -n=NUMBER --max-count=NUMBER --skip=NUMBER --since=TEXT --after=TEXT --until=TEXT --before=TEXT
--since-as-filter==TEXT --max-age==NUMBER --min-age==NUMBER --author=TEXT --committer=TEXT
--grep=TEXT --grep-reflog==TEXT --all-match --invert-grep -i --regexp-ignore-case --basic-regexp -E
--extended-regexp -F --fixed-strings -P --perl-regexp --remove-empty --merges --no-merges
--min-parents==NUMBER --max-parents==NUMBER --no-min-parents --no-max-parents --first-parent
--exclude-first-parent-only --not --all --branches[=TEXT] --tags[=TEXT] --remotes[=TEXT] --glob==TEXT
--exclude==TEXT --exclude-hidden==TEXT --reflog --ignore-missing --bisect --cherry-mark
--cherry-pick --left-only --right-only --cherry -g --walk-reflogs --merge --boundary
--simplify-by-decoration --show-pulls --full-history --dense --sparse --simplify-merges
--ancestry-path[=TEXT] --date-order --author-date-order --topo-order --reverse --no-walk[=sorted|unsorted]
--do-walk --pretty[=FORMAT] --format==FORMAT --abbrev-commit --no-abbrev-commit --oneline --encoding==TEXT
--expand-tabs[=NUMBER] --no-expand-tabs --notes[=TEXT] --no-notes --relative-date --date=TEXT --parents
--children --left-right --graph --no-graph --show-linear-break[=TEXT] --count --timestamp --header
--no-commit-header --commit-header
"""

LOG = f"""
{DIFF} {COMMITS} --follow --no-follow --decorate[=short|full|auto|no] --no-decorate --decorate-refs==TEXT
--decorate-refs-exclude==TEXT --clear-decorations --source --use-mailmap --mailmap --no-use-mailmap
--no-mailmap --full-diff --log-size -L=TEXT --root
"""

# Options of the subcommands that list references.
REFERENCES = f"""
--contains[=TEXT] --no-contains[=TEXT] --merged[=TEXT] --no-merged[=TEXT] --points-at=TEXT --sort=KEY
--format=FORMAT {COLOUR} --column[=TEXT] --no-column -i --ignore-case --omit-empty
"""

REFUSED = {
    "--output": "writes its output to a file",
    "--ext-diff": "runs the configured external diff",
    "--textconv": "runs the configured converters",
    "--show-signature": "runs the configured signature program",
    "--output-directory": "writes files",
    "--exec": "names a program to run",
    "--upload-pack": "names a program to run",
    "--alternate-refs": "starts git in other repositories",
    "--stdin": "reads arguments from its input",
}

# Settings that hold no secret and name no program.
SETTINGS = re.compile(
    r"(user\.(name|email)|init\.defaultbranch|pull\.(rebase|ff)|push\.(default|autosetupremote)|merge\.ff|"
    r"core\.(autocrlf|bare|eol|filemode|hookspath|ignorecase|logallrefupdates|precomposeunicode|quotepath|"
    r"repositoryformatversion|safecrlf|symlinks|whitespace|excludesfile|attributesfile|worktree|abbrev)|"
    r"branch\.[^\s]+\.(remote|merge|rebase|description)|remote\.[^\s]+\.(url|fetch|pushurl)|remote\.pushdefault|"
    r"color\.[a-z.]+|rebase\.auto[a-z]+|fetch\.prune|commit\.gpgsign|diff\.(renames|algorithm)|submodule\.recurse)",
    re.IGNORECASE,
)
