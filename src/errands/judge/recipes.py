"""Recipes: commands that test, check or build a project as a few files of it say, such as `npm test`.

Their words say little about what runs; these files do. If their content is part of an approval, it can last.
"""

from __future__ import annotations

import posixpath

from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from errands.model.action import Command

# The files that decide what a program runs, in the directory where it is started.
_FILES = {
    name: tuple(files.split())
    for names, files in {
        "npm": "package.json .npmrc",
        "pnpm": "package.json .npmrc pnpm-workspace.yaml .pnpmfile.cjs",
        "yarn": "package.json .yarnrc .yarnrc.yml .npmrc",
        "bun": "package.json bunfig.toml",
        "make gmake": "GNUmakefile makefile Makefile",
        "just": "justfile Justfile .justfile",
        "task": "Taskfile.yml Taskfile.yaml",
        "rake": "Rakefile rakefile",
        "cargo": "Cargo.toml build.rs .cargo/config.toml .cargo/config rust-toolchain rust-toolchain.toml",
        "go": "go.mod go.work",
        "tox": "tox.ini setup.cfg pyproject.toml",
        "nox": "noxfile.py",
        "mvn": "pom.xml .mvn/maven.config .mvn/jvm.config .mvn/extensions.xml",
        "gradle": "build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties",
        "mix": "mix.exs",
    }.items()
    for name in names.split()
}
_ALONE = frozenset(("tox", "nox"))  # they need no target
_TARGET = regex(
    r"(?:unit-?|integration-?|e2e-?)?(?:tests?|check|lint|typecheck|type-check|types|build|compile|vet|clippy|bench|"
    r"verify|coverage|spec|t)(?:[:._-][\w:.-]*)?"
)
_PLAIN = regex(r"[\w ./:@=,+-]+")
# Options that name another file or directory, or more code.
_ELSEWHERE = regex(
    r"-[CfIR].*|--(?:file|makefile|directory|prefix|cwd|dir|project|manifest-path|chdir|config|eval|include-dir|"
    r"preload|require|import|script-shell|exec|toolexec|build-file|settings|init-script|justfile|taskfile|r)(?:=.*)?"
    r"|-(?:exec|toolexec|r|c|S)(?:=.*)?"
)


def deciding_files(words: Sequence[str]) -> tuple[str, ...]:
    """Return the files that decide what such a command runs; none if it is another command."""
    name = words[0]
    files = _FILES.get(name, ())
    if not files or any(_ELSEWHERE.fullmatch(word) for word in words[1:]):
        return ()
    operands = [word for word in words[1:] if not word.startswith("-")]
    if operands[:1] == ["run"] and name in ("npm", "pnpm", "yarn", "bun"):
        operands = operands[1:]
    is_target = bool(operands) and _TARGET.fullmatch(operands[0]) is not None
    return files if is_target or (name in _ALONE and not operands) else ()


def covered_files(commands: Sequence[Command], cwd: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that decide what all commands of a task run, if each of them is such a command.

    `known` has the digests of files; what is missing there, or empty, does not exist.
    """
    found: dict[str, None] = {}
    for command in commands:
        words = command.split() if isinstance(command, str) else command
        if isinstance(command, str) and not _PLAIN.fullmatch(command):
            return ()
        here = [each for each in deciding_files(words) if known.get(posixpath.join(cwd, each))]
        if not here:
            return ()
        found.update(dict.fromkeys(here))
    return tuple(found)
