"""Harms of git."""

from __future__ import annotations

from errands.judge.programs.harm_entry import Harm, does, uses

_CHANGES = "changes the work tree and may throw away changes: {}"
_THROWS_AWAY = does(_CHANGES, "write", "no", nothing="as its options say")


def _by_force(options: str) -> Harm:
    return does(_CHANGES, "write", "no", when=options, nothing="as its options say")


GIT = {
    **uses(
        "git",
        "push",
        does(
            "overwrites what others have: pushes {} by force",
            "network",
            "no",
            when="-f --force --force-with-lease --mirror --delete -d --prune",
            nothing="the current branch",
        ),
        does("publishes commits: {}", "network", nothing="the current branch"),
    ),
    **uses(
        "git",
        "reset",
        does(
            "throws away changes and moves the branch to {}",
            "delete",
            "no",
            when="--hard --merge --keep",
            nothing="HEAD",
        ),
        does("moves the branch or the index to {}", "write", nothing="HEAD"),
    ),
    **uses("git", "clean", does("deletes untracked files", "delete", "no")),
    **uses(
        "git",
        "checkout",
        _by_force("-f --force -m --merge"),
        does("creates a branch and switches to it: {}", "write", "yes", when="-b --orphan"),
        _THROWS_AWAY,
    ),
    **uses(
        "git",
        "switch",
        _by_force("-f --force --discard-changes -m --merge -C --force-create"),
        does("creates a branch and switches to it: {}", "write", "yes", when="-c --create --orphan"),
        does("switches to another branch: {}", "write", "yes"),
    ),
    **uses(
        "git",
        "restore",
        _by_force("-W --worktree -p --patch"),
        does("takes changes out of the index: {}", "write", "yes", when="-S --staged"),
        _THROWS_AWAY,
    ),
    **uses("git", "rebase", does("rewrites commits onto {}", "write", nothing="the upstream branch")),
    **uses("git", "filter-branch filter-repo", does("rewrites the whole history", "write", "no")),
    **uses("git", "commit", does("creates a commit and runs hooks", "write")),
    **uses(
        "git",
        "pull",
        does(
            "fetches from another repository and changes this branch: {}",
            "write",
            nothing="from the upstream branch",
        ),
    ),
    **uses(
        "git",
        "merge cherry-pick revert am",
        does("creates commits in this branch: {}", "write", nothing="as its options say"),
    ),
    **uses(
        "git",
        "fetch ls-remote clone submodule",
        does("talks to another repository: {}", "network", nothing="the one it knows"),
    ),
    **uses(
        "git",
        "add stage",
        does("puts changes into the index: {}", "write", "yes", nothing="those that its options choose"),
    ),
    **uses("git", "rm mv apply update-index", does("changes the index or the work tree: {}", "write")),
    **uses("git", "branch", does("deletes the branch {}", "delete", "no", when="-D -d --delete")),
    **uses("git", "tag", does("deletes the tag {}", "delete", "no", when="-d --delete")),
    **uses(
        "git",
        "stash",
        does("deletes stashed changes: {}", "delete", "no", when="drop clear"),
        does("puts changes away, out of the work tree", "write", when="push save store create ()"),
        does("takes changes that were put away back into the work tree", "write", when="pop apply branch"),
    ),
    **uses(
        "git",
        "worktree",
        does("removes a work tree: {}", "delete", when="remove prune"),
        does("adds or changes a work tree: {}", "write", when="add move lock unlock repair"),
    ),
    **uses("git", "gc prune repack", does("removes old objects", "delete", "no")),
    **uses("git", "update-ref", does("changes references: {}", "write", "no")),
    **uses("git", "init archive bundle format-patch", does("writes files: {}", "write", nothing="here")),
    **uses("git", "bisect difftool mergetool", does("runs programs or changes the work tree", "script")),
}
