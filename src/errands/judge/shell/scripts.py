"""Scripts: the files whose content decides what a command does.

An approval covers their content as it was, so they are listed even when a person is asked anyway. Where they
cannot be listed, `uncovered` says so.
"""

from __future__ import annotations

import posixpath

from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

INTERPRETERS = frozenset(
    """python python2 python3 pypy pypy3 perl ruby node nodejs deno bun tsx ts-node php lua luajit
    Rscript julia tclsh wish guile racket osascript pwsh groovy scala elixir escript swift awk gawk
    mawk nawk""".split()
)
# The shells whose lines are analysed, and others, which are not.
SHELLS = frozenset("sh bash dash zsh".split())
# What a shell does itself, whether or not there is a program of that name.
BUILTINS = frozenset("cd echo printf test [ true false : pwd type command exit time".split())
OTHER_SHELLS = frozenset("ksh mksh fish csh tcsh source .".split())
_JAVASCRIPT = frozenset("node nodejs bun deno tsx ts-node".split())
# Options of shells and interpreters that take the next word as their value.
_VALUED = frozenset("-W -X -I -O -o -L -M -S -v --env-file -C --conditions --rcfile --init-file".split())
# Options whose value is a file that is loaded first, and of the programs that have them.
_LOADING = frozenset("-r --require --import --loader --experimental-loader --rcfile --init-file".split())
_LOADERS = _JAVASCRIPT | frozenset("ruby mocha jest ava nyc rspec cucumber bash".split())
# Letters that make a word the program itself, by interpreter; "-" and "-s" mean standard input.
_INLINE = {
    **dict.fromkeys(SHELLS | OTHER_SHELLS - {"source", "."}, "c"),
    **dict.fromkeys("python python2 python3 pypy pypy3".split(), "c"),
    **dict.fromkeys(_JAVASCRIPT, "ep"),
    **dict.fromkeys("perl julia".split(), "eE"),
    "php": "r",
}
# Modules of Python that run code in their operands.
_CODE_RUNNERS = frozenset("timeit pdb code cProfile profile trace asyncio IPython ptpython".split())
_INLINE_WORDS = frozenset("--eval --print --command -Command -".split())
_FILED = frozenset(
    "-f --file --makefile --justfile --taskfile --buildfile -buildfile -b --build-file".split()
)
_PLACED = frozenset(
    "-C --directory --prefix --cwd --dir --project --working-directory --manifest-path --chdir".split()
)
# The files that say what these do, where no option names others.
_RECIPES = {
    name: files
    for names, files in {
        "make gmake": "GNUmakefile makefile Makefile",
        "just": "justfile Justfile .justfile",
        "npm yarn pnpm": "package.json",
        "rake": "Rakefile rakefile",
        "tox": "tox.ini setup.cfg pyproject.toml",
        "nox": "noxfile.py",
        "task": "Taskfile.yml Taskfile.yaml",
        "ninja": "build.ninja",
        "gulp": "gulpfile.js",
        "grunt": "Gruntfile.js",
        "pre-commit": ".pre-commit-config.yaml",
        "invoke inv": "tasks.py",
        "ant": "build.xml",
        "mvn": "pom.xml",
        "gradle": "build.gradle build.gradle.kts settings.gradle settings.gradle.kts",
        "cargo": "Cargo.toml build.rs",
        "composer": "composer.json",
        "docker podman docker-compose": "compose.yaml compose.yml docker-compose.yml docker-compose.yaml",
        "psql mysql kubectl oc ansible-playbook": "",
    }.items()
    for name in names.split()
}
# These run a command in an environment of the project, and then its words follow.
RUNNING = {**dict.fromkeys("uv poetry pipenv pdm rye hatch".split(), "run"), "bundle": "exec"}
MOST_NESTED = 50  # programs that start each other: more are never meant
_RUNNING_VALUED = frozenset(
    "--with --with-requirements --python -p --extra --group --package --index --env-file -e".split()
)
_PACKAGES = frozenset("npx pnpx bunx".split())
# These run code of the project, or packages, in more files than can be listed.
_UNCOVERED = {
    name: frozenset(words.split())
    for names, words in {
        "go": "run test generate",
        "cargo": "run test bench build check clippy",
        "dotnet": "run test build",
        "swift zig mix stack cabal": "run test build",
        "npx pnpx bunx uvx mvn gradle sbt lein bazel terraform tofu pulumi ansible-playbook": "",
        "pnpm yarn": "exec dlx",
        "npm": "exec x",
        "pipx": "run",
    }.items()
    for name in names.split()
}
_SYSTEM = ("/bin/", "/sbin/", "/usr/", "/opt/", "/nix/", "/lib/", "/System/", "/Library/")
_NAME = regex(r"\w[\w.-]*")
_VERSION = regex(r"[0-9.]+$")
_FILE = regex(r"[./~].*|.*/.*|.*\.[cm]?[jt]sx?|.*\.rb")


def scripts(words: tuple[str, ...], cwd: str) -> tuple[str, ...]:
    """Return the scripts of one command as absolute paths; they need not exist."""
    found = (posixpath.normpath(posixpath.join(cwd, path)) for path in _named(words))
    return tuple(dict.fromkeys(found))


def printed_scripts(words: tuple[str, ...], source: tuple[str, ...], cwd: str) -> tuple[str, ...] | None:
    """Return the scripts that a command is given by a pipe; None if what it runs comes from elsewhere."""
    if not _reads_program(words):
        return ()
    if posixpath.basename(source[0]) != "cat" or any(word.startswith("-") for word in source[1:]):
        return None
    return tuple(posixpath.normpath(posixpath.join(cwd, path)) for path in source[1:])


def uncovered(words: tuple[str, ...]) -> str:
    """Return which part of a command runs what `scripts` cannot list; "" if none does."""
    name = posixpath.basename(words[0])
    if name in RUNNING:
        return uncovered(rest) if (rest := run_by(words)) else ""
    known = _UNCOVERED.get(name)
    if known is None or words[1:] in (("--version",), ("--help",)):
        return ""
    if not known:
        return f"{name} {words[1]}" if name in _PACKAGES and len(words) > 1 else name
    found = next((word for word in words[1:] if not word.startswith(("-", "+"))), "")
    return f"{name} {found}" if found in known else ""


def is_interpreter(name: str) -> bool:
    """Return whether a program runs scripts, by its name with or without a version."""
    return _plain(name) in INTERPRETERS


def names_program(name: str, words: tuple[str, ...]) -> bool:
    """Return whether an interpreter is given a file or a module, so that what follows is not code."""
    name = _plain(name)
    if name not in _INLINE or words[:1] == ("eval",) or not _CODE_RUNNERS.isdisjoint(words):
        return False
    return any(True for _ in _program(name, words))


def _plain(name: str) -> str:
    if name in INTERPRETERS or name[-1:].isalpha():
        return name
    return _VERSION.sub("", name) or name


def _named(words: tuple[str, ...]) -> Iterator[str]:
    name = _plain(posixpath.basename(words[0]))
    if "/" in words[0] and not words[0].startswith(_SYSTEM):
        yield words[0]
    if name in _LOADERS:
        yield from (path for path in _values(words[1:], _LOADING) if name == "bash" or _FILE.fullmatch(path))
    if name in RUNNING:
        where = next(_values(words[1:], _PLACED), "")
        if rest := run_by(words):
            yield from (posixpath.join(where, path) for path in (*_named(rest), *_own_script(rest)))
    elif name in _PACKAGES:
        package = next((word for word in words[1:] if _NAME.fullmatch(word)), "")
        yield from [f"node_modules/.bin/{package}"] if package else []
    elif name in _RECIPES:
        yield from _recipes(name, words[1:])
    elif name == "go":
        yield from (word for word in words[2:] if word.endswith(".go"))
    elif name in ("awk", "gawk", "mawk", "nawk", "sed"):
        yield from _values(words[1:], frozenset(("-f", "--file")))
    elif name in SHELLS or name in OTHER_SHELLS or is_interpreter(name):
        yield from _program(name, words[1:])


def _own_script(words: tuple[str, ...]) -> Iterator[str]:
    """Yield the file that `uv run FILE` runs without naming an interpreter."""
    if words[0].endswith(".py") and "/" not in words[0]:
        yield words[0]


def run_by(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that follows `uv run`, `poetry run` or `bundle exec`."""
    verb = RUNNING[_plain(posixpath.basename(words[0]))]
    if not 0 < words.count(verb) <= MOST_NESTED:
        return ()
    rest = list(words[words.index(verb) + 1 :])
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        if option in ("-m", "--module"):
            return ("python", "-m", *rest)
        if option in ("-s", "--script") and rest:
            return ("python", *rest)
        if (option in _RUNNING_VALUED or option in _PLACED) and rest:
            rest.pop(0)
    return tuple(rest)


def _recipes(name: str, words: tuple[str, ...]) -> Iterator[str]:
    where = next(_values(words, _PLACED), "")
    files = [*_values(words, _FILED)]
    if name in ("docker", "podman"):
        files = [file for file in files if file.endswith((".yml", ".yaml")) or "ockerfile" in file]
        if not files and "compose" not in words:
            return
    if name in ("ansible-playbook", "kubectl", "oc"):
        files += [word for word in words if word.endswith((".yml", ".yaml"))]
    if where.endswith(".toml"):  # --manifest-path names the file itself
        where, files = posixpath.dirname(where), [posixpath.basename(where)]
    yield from (posixpath.join(where, file) for file in files or _RECIPES[name].split())


def _values(words: tuple[str, ...], options: frozenset[str]) -> Iterator[str]:
    """Yield the values of options, however they are written: `-f x`, `-fx`, `--file x`, `--file=x`."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word in options:
            if at + 1 < len(words):
                yield words[at + 1]
        elif equals and name.startswith("--") and name in options:
            yield value
        elif len(word) > 2 and word[0] == "-" and word[:2] in options and word[1] != "-":
            yield word[2:]


def _program(name: str, words: tuple[str, ...]) -> Iterator[str]:
    """Yield the file that an interpreter is given, or those that a module of Python may be."""
    rest = iter(words)
    for word in rest:
        is_cluster = word[:1] == "-" and word[1:2] not in ("", "-")
        if word in _INLINE_WORDS or (word == "-s" and name in SHELLS):
            return
        if word == "-f" and name == "php":
            continue
        if is_cluster and name.startswith(("python", "pypy")) and "m" in word and "c" not in word:
            module = word[word.index("m") + 1 :] or next(rest, "")
            path = module.replace(".", "/")
            yield from (f"{path}.py", f"{path}/__main__.py", f"{path.partition('/')[0]}/__init__.py")
            return
        if is_cluster and word not in _VALUED and set(_INLINE.get(name, "e")) & set(word[1:]):
            return
        if word in ("run", "test") and name in _JAVASCRIPT:
            continue
        if word in _VALUED or (word in _LOADING and name in _LOADERS):
            next(rest, None)
        elif not word.startswith("-"):
            yield word
            return


def _reads_program(words: tuple[str, ...]) -> bool:
    """Return whether a command runs what it reads from standard input."""
    name = _plain(posixpath.basename(words[0]))
    if not (name in SHELLS or name in OTHER_SHELLS or is_interpreter(name)) or name.endswith("awk"):
        return False
    if "-s" in words[1:] and name in SHELLS:
        return True
    letters = set(_INLINE.get(name, "e"))
    return not any(
        not word.startswith("-")
        or word in _INLINE_WORDS - {"-"}
        or (word[1:2] != "-" and letters & set(word[1:]))
        for word in words[1:]
    )
