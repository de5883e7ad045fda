"""Harms of package managers, of tools that build and check code, and of git."""

from __future__ import annotations

from errands.judge.programs.harm_entry import Harm, does, each, uses

_SWITCHES = does("switches environments: {}", "script", nothing="the default one")
PACKAGES = {
    **uses(
        "pip pip3", "install download wheel", does("installs packages, which runs their code: {}", "script")
    ),
    **uses("pip pip3", "uninstall", does("removes packages: {}", "delete")),
    **uses(
        "npm pnpm yarn bun",
        "install i ci add update upgrade",
        does("installs packages, which runs their scripts: {}", "script", nothing="those of the project"),
    ),
    **uses(
        "npm pnpm yarn bun",
        "view info show outdated audit search",
        does(
            "installs other versions of packages, which runs their scripts: {}",
            "script",
            when="fix --fix",
            nothing="those of the project",
        ),
        does("asks the package registry about {}", "network", nothing="the packages of the project"),
    ),
    **uses(
        "bundle composer gem",
        "install update add require",
        does("installs packages, which may run their code: {}", "script", nothing="those of the project"),
    ),
    **uses("bundle composer gem", "remove uninstall", does("removes packages: {}", "delete")),
    **uses(
        "uv",
        "add remove sync",
        does("installs the packages of the project, which may run their code: {}", "script", nothing="all"),
    ),
    **uses("uv", "lock", does("looks up which versions of packages fit", "network")),
    **uses(
        "uv",
        "pip",
        does(
            "installs packages, which may run their code: {}", "script", when="install sync compile download"
        ),
        does("removes packages: {}", "delete", when="uninstall"),
    ),
    **uses(
        "npm pnpm yarn cargo uv poetry gem hatch flit",
        "publish",
        does("publishes a package", "network", "no"),
    ),
    **each("twine", does("publishes packages: {}", "network", "no")),
    **{
        f"{program} {use}": (
            does(f"runs a script of the project with {program}: {{}}", "script", nothing=use),
        )
        for program in ("npm", "pnpm", "yarn", "bun", "deno")
        for use in ("run", "test", "start", "exec", "run-script", "task")
    },
    **each("npx pnpx bunx uvx pipx", does("downloads and runs a package: {}", "script")),
    **each("yarn pnpm", does("runs the project's package manager", "script")),
    **uses(
        "brew apt apt-get aptitude yum dnf zypper apk port snap flatpak",
        "info show search outdated policy list desc deps uses leaves",
        does("asks the package manager about {}", "network", nothing="what is installed"),
    ),
    **each(
        "apt apt-get aptitude yum dnf zypper pacman apk brew port snap flatpak emerge nix nix-env guix",
        does("changes the software of this machine: {}", "network", nothing="what its options say"),
    ),
    **each("rpm", does("changes the software of this machine: {}", "write")),
    **uses(
        "conda mamba micromamba",
        "env",
        does("changes environments: {}", "network", when="create remove update config export"),
        does("shows what is installed", "script"),
    ),
    **uses("conda mamba micromamba apt", "list info", does("shows what is installed", "script")),
    **uses("conda mamba micromamba", "run", does("runs a command in an environment: {}", "script")),
    **uses("conda mamba micromamba", "activate deactivate", _SWITCHES),
    **each("conda mamba micromamba", does("changes environments: {}", "network")),
    **each(
        "make gmake ninja just task rake gradle mvn ant bazel cmake meson scons tox nox invoke",
        does("runs the recipes of the project: {}", "script", nothing="the default one"),
    ),
    **each(
        "cargo go rustc javac gcc g++ cc clang tsc webpack vite esbuild dotnet swift stack cabal mix",
        does("builds or runs code: {}", "script"),
    ),
    **each("pre-commit", does("runs configured hooks, which may edit files", "script")),
    **each(
        "ruff black isort autopep8 yapf prettier eslint gofmt rustfmt clang-format",
        does("may edit files: {}", "write", nothing="those of the project"),
    ),
    **each("mypy pylint flake8 pyright coverage", does("runs code that the project configures", "script")),
    **each("poetry pipenv hatch pdm rye", does("runs or changes the project's environment: {}", "script")),
}

_TEXT = "changes the work tree and may throw away changes: {}"
_THROWS_AWAY = does(_TEXT, "write", "no", nothing="as its options say")


def _by_force(options: str) -> Harm:
    return does(_TEXT, "write", "no", when=options, nothing="as its options say")


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
