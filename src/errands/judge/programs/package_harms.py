"""Harms of package managers, and of tools that build and check code."""

from __future__ import annotations

from errands.judge.programs.harm_entry import does, each, uses

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
