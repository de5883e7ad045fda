"""Test runs: pytest and unittest, started directly, through Python or through uv.

Tests are the project's own code, and people expect to run them without being asked. Not accepted are writing
reports, other plug-ins, configuration or tests from elsewhere, and waiting for a person.
"""

from __future__ import annotations

import posixpath

from errands.judge.programs.entry import Program, ask, ask_each, unlisted
from errands.judge.programs.globs import Glob
from errands.judge.programs.places import is_inside
from errands.judge.programs.usage import reasons_by_entry
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry, Reasons, Usage
    from errands.judge.workspace import Workspace

# A category with a dot would be imported.
_WARNING = regex(r"(default|error|ignore|always|module|once|all)(:[^:]*(:\w*(:[^:]*){0,2})?)?")
# A dotted name that is clearly a test; any other name might import anything.
_TEST_NAME = regex(r"\w+(\.\w+)*")
_TEST_FILE = regex(r"test_.*|[^*?\[]*_test\.py|tests?\.py|\*_test\.py")
_TESTERS = regex(r"py\.?test|uv|(?:python|pypy)[0-9.]*")
_TEST_PART = regex(r"(?i)tests?|test_\w+|\w+_tests?|Test\w*|\w+Tests?")


def _pytest(usage: Usage, workspace: Workspace) -> Reasons:
    reasons = [*_about_project(usage, workspace), *_about_warnings(usage)]
    for plugin in usage.values("-p"):
        if not plugin.startswith("no:"):
            reasons += ask(f"`pytest` loads the plug-in {plugin}", "script")
    for word in usage.operands:
        if word.startswith("@"):
            reasons += ask(f"`pytest` reads options from the file {word[1:]}", "option")
        elif word.startswith("-"):
            # Before it parses its options, pytest looks for plug-ins in every word.
            reasons += ask(f"`pytest` may read {word} as an option", "option")
        else:
            reasons += _about_tests(word, workspace)
    return tuple(reasons)


def _unittest(usage: Usage, workspace: Workspace) -> Reasons:
    reasons = [*_about_project(usage, workspace)]
    names = usage.operands
    for pattern in usage.values("-p", "--pattern"):
        if "test" not in pattern.lower():
            reasons += ask(f"imports every file that matches {pattern}", "script")
    if names[:1] == ["discover"]:
        for word in names[1:]:
            reasons += _about_place(word, workspace)
        # The operands of `discover` are a directory, a pattern and another directory.
        if len(names) > 2 and "test" not in names[2].lower():
            reasons += ask(f"imports every file that matches {names[2]}", "script")
        return tuple(reasons)
    for word in names:
        if "/" in word or word.endswith(".py"):
            reasons += _about_tests(word, workspace)
        elif not (_TEST_NAME.fullmatch(word) and any(_TEST_PART.fullmatch(part) for part in word.split("."))):
            reasons += ask(f"imports {word}, which may not be a test", "script")
    return tuple(reasons)


def _about_project(usage: Usage, workspace: Workspace) -> Reasons:
    return _about_place(".", workspace) if is_inside(".", workspace) else _outside(workspace.cwd)


def _about_tests(word: str, workspace: Workspace) -> Reasons:
    """Accept a directory, or a file with a name for tests: pytest runs any file that is named."""
    place = word.partition("::")[0]
    name = place.rstrip("/").rpartition("/")[2]
    wild = isinstance(word, Glob) and not word.endswith("/")
    if (wild or name.endswith(".py") or "::" in word) and not _TEST_FILE.fullmatch(name):
        return ask(f"runs a script: {place}", "script")
    return _about_place(place, workspace)


def _about_place(word: str, workspace: Workspace) -> Reasons:
    if not is_inside(word, workspace):
        return _outside(word)
    if stranger := workspace.stranger(posixpath.dirname(word) or "." if isinstance(word, Glob) else word):
        return ask(f"runs code of another user: {stranger}", "stranger")
    return ()


def _about_warnings(usage: Usage) -> Reasons:
    return ask_each(
        (
            f"`{usage.name}`: the warning filter {value} may import something"
            for value in usage.values("-W", "--pythonwarnings")
            if not _WARNING.fullmatch(value)
        ),
        "option",
    )


def _outside(word: str) -> Reasons:
    return ask(f"runs tests outside the project: {word}", "script")


PYTEST = Program(
    options="""
    -q --quiet -v --verbose --verbosity=NUMBER -x --exitfirst -s -l --showlocals --no-showlocals -r=TEXT
    -k=TEXT -m=TEXT --lf --last-failed --ff --failed-first --nf --new-first --lfnf=all|none
    --last-failed-no-failures=all|none --sw --stepwise --sw-skip --stepwise-skip --sw-reset --stepwise-reset
    --maxfail=NUMBER --co --collect-only --collectonly --durations=NUMBER --durations-min=NUMBER --no-header
    --no-summary --no-fold-skipped --strict-markers --strict-config --strict --force-short-summary
    --tb=auto|long|short|line|native|no --capture=fd|sys|no|tee-sys --color=yes|no|auto
    --code-highlight=yes|no --show-capture=no|stdout|stderr|log|all --full-trace --fulltrace
    --disable-warnings --disable-pytest-warnings -W=TEXT --pythonwarnings=TEXT --runxfail --xfail-tb
    --ignore=LOOK --ignore-glob=TEXT --deselect=TEXT --noconftest --keep-duplicates
    --collect-in-virtualenv --continue-on-collection-errors --import-mode=prepend|append|importlib
    --fixtures --funcargs --fixtures-per-test --markers --setup-show --setup-only --setup-plan --setuponly
    --setupplan --setupshow --doctest-report=none|cdiff|ndiff|udiff|only_first_failure
    --doctest-ignore-import-errors --doctest-continue-on-failure
    --assert=plain|rewrite --trace-config --cache-show[=TEXT] --log-level=TEXT --log-format=TEXT
    --log-date-format=TEXT --log-cli-level=TEXT --log-cli-format=TEXT --log-cli-date-format=TEXT
    --log-auto-indent=TEXT --log-disable=TEXT -p=TEXT -n=NUMBER|auto|logical
    --numprocesses=NUMBER|auto|logical --dist=load|loadscope|loadfile|loadgroup|worksteal|each|no
    --maxprocesses=NUMBER --timeout=NUMBER --timeout-method=signal|thread --session-timeout=NUMBER
    --asyncio-mode=auto|strict --no-cov --reruns=NUMBER --reruns-delay=NUMBER --randomly-seed=TEXT
    --randomly-dont-reorganize --random-order --random-order-seed=TEXT --count=NUMBER --full-path -h -V
    --version --help
    --max-warnings=NUMBER --hypothesis-seed=TEXT --hypothesis-profile=TEXT --hypothesis-show-statistics
    --disable-plugin-autoload --asyncio-debug
    """,
    operands="TEXT...",
    refused={
        "--basetemp": "removes and writes a directory",
        "--junit-xml --junitxml --report-log --html --json-report --json-report-file": "writes a file",
        "--cov --cov-report --cov-config --cov-append": "writes a coverage report",
        "-c --config-file --rootdir --confcutdir --inifile": "uses configuration from elsewhere",
        "-o --override-ini": "changes the configuration",
        "--debug --log-file": "writes a file",
        "--pastebin": "sends the log to a public service",
        "--pdb --trace --pdbcls": "waits for a person",
        "--cache-clear": "deletes the cache",
        "--doctest-modules --doctest-glob": "imports and runs code that is not a test",
        "--pyargs": "imports packages by name",
        "--snapshot-update --inline-snapshot --force-regen": "changes the expected results of tests",
    },
    check=_pytest,
)

UNITTEST = Program(
    options="""
    -v --verbose -q --quiet --locals --durations=NUMBER -f --failfast -c --catch -b --buffer -k=TEXT -s=INSIDE
    --start-directory=INSIDE -p=PATTERN --pattern=PATTERN -t=INSIDE --top-level-directory=INSIDE -h
    """,
    operands="TEXT...",
    check=_unittest,
)

_MODULES = {"pytest": PYTEST, "unittest": UNITTEST}

# Options of Python that do not change what is run.
_PYTHON = frozenset("-B -b -bb -E -I -O -OO -P -R -s -u".split())
_PYTHON_X = frozenset("dev utf8 utf8=1 faulthandler tracemalloc importtime showrefcount".split())

# Options of `uv run` that do not change what is run.
_UV = frozenset(
    "--frozen --locked --no-sync --offline --dev --no-dev -q --quiet -v --verbose --no-progress".split()
)
_PYTHON_NAME = regex(r"python(3(\.\d{1,2})?)?")


def _is_python(name: str) -> bool:
    return name.startswith("python") and _PYTHON_NAME.fullmatch(name) is not None


def _python(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    """Judge a whole `python` command: its version, or a module that runs tests."""
    name, rest = words[0], words[1:]
    if rest in (("--version",), ("-V",), ("-VV",), ("--help",), ("-h",)):
        return ()
    while rest:
        if rest[0] in _PYTHON:
            rest = rest[1:]
        elif (rest[0] == "-X" and len(rest) > 1 and rest[1] in _PYTHON_X) or (
            rest[0] == "-W" and len(rest) > 1 and _WARNING.fullmatch(rest[1])
        ):
            rest = rest[2:]
        else:
            break
    if not rest:
        return ask(f"`{name}` runs code from its input", "script")
    if rest[0] == "-m" and len(rest) > 1 and rest[1] in _MODULES:
        return reasons_by_entry(rest[1], rest[2:], _MODULES[rest[1]], workspace)
    if rest[0] == "-m" and len(rest) > 1:
        return ask(f"runs the module {rest[1]}", "script")
    if rest[0].startswith("-c"):
        return ask(f"`{name}` runs code from the command line", "script")
    if rest[0].startswith("-"):
        return unlisted(name, rest[0])
    return ask(f"runs a script: {rest[0]}", "script")


def _pytest_itself(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    return reasons_by_entry("pytest", words[1:], PYTEST, workspace)


def _uv(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    rest = words[1:]
    if rest in (("--version",), ("-V",), ("version",), ("--help",), ("self", "version")):
        return ()
    if rest[:1] != ("run",):
        return ask(f"`uv {' '.join(rest[:1])}` is not on the list of harmless subcommands", "program")
    rest = rest[1:]
    while rest and rest[0] in _UV:
        rest = rest[1:]
    if rest[:1] == ("--",):
        rest = rest[1:]
    if rest[:1] in (("-m",), ("--module",)):
        rest = ("python", "-m", *rest[1:])
    if rest and rest[0] in ("pytest", "py.test"):
        return _pytest_itself(rest, workspace)
    if rest and _is_python(rest[0]):
        return _python(rest, workspace)
    return ask(f"`uv run` runs {rest[0] if rest else 'something'}", "script")


def is_tester(name: str) -> bool:
    """Return whether a program runs the project's code."""
    return name.startswith(("py", "uv")) and _TESTERS.fullmatch(name) is not None


def runs_tests(words: tuple[str, ...]) -> bool:
    """Return whether a harmless command runs code of the project, which may write what it likes."""
    is_runner = words[0] in PROGRAMS or _is_python(words[0])
    return is_runner and words[1:] not in (("--version",), ("-V",), ("-VV",))


PROGRAMS: dict[str, Entry] = {
    "pytest": _pytest_itself,
    "py.test": _pytest_itself,
    "python": _python,
    "python3": _python,
    "uv": _uv,
}
