"""Rules that keep the code small, pure and quick to start. import-linter checks the layers."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.engine.daemon.lock import daemon_facts
from errands.ports.fleet.membership import Membership
from errands.ports.fleet.membership import write as write_membership
from errands.ports.home import Home
from tests.chaos.processes import wait_until

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "errands"
LONGEST_FILE = 400

BANNED = {"manager", "helper", "util"}
BANNED |= {f"{word}s" for word in BANNED}

FILES = sorted(
    place
    for folder in ("src", "tests", "benchmarks", "examples")
    for place in (ROOT / folder).rglob("*.py")
    if "__pycache__" not in place.parts
)
MODULES = [place for place in FILES if SOURCE in place.parents]


def name_of(place: Path) -> str:
    return str(place.relative_to(ROOT))


def test_no_file_is_too_long() -> None:
    lengths = {name_of(place): len(place.read_text().splitlines()) for place in FILES}

    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_every_file_has_a_docstring() -> None:
    # Comments may stand before it. Reading is enough: parsing a thousand files takes nine seconds.
    begins = re.compile(r'(?:\s*(?:#.*)?\n)*(?:r?"""\s*[^\s"]|\Z)')

    assert [name_of(place) for place in FILES if not begins.match(place.read_text())] == []


def defined_names(tree: ast.AST) -> Iterator[str]:
    """Yield every name that a file defines, not those it only uses."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.alias(asname=str(name)):
                yield name


def words_of(name: str) -> set[str]:
    """Split a name into words: `TaskManager` and `task_manager` are both task and manager."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def banned_names(place: Path) -> set[str]:
    """Return the names in a file that contain a banned word."""
    names = {*defined_names(ast.parse(place.read_text())), *place.relative_to(SOURCE).with_suffix("").parts}
    return {name for name in names if words_of(name) & BANNED}


def test_no_name_contains_a_banned_word() -> None:
    assert {name_of(place): names for place in MODULES if (names := banned_names(place))} == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [("TaskManager", {"task", "manager"}), ("_run_data2", {"run", "data"}), ("HTTPInfo", {"http", "info"})],
)
def test_a_name_is_split_into_words(name: str, words: set[str]) -> None:
    assert words_of(name) == words


def test_the_model_never_reads_the_clock() -> None:
    trees = {name_of(place): ast.parse(place.read_text()) for place in MODULES if "model" in place.parts}
    offenders = {
        name
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ("now", "utcnow", "today")
    }

    assert offenders == set()


def test_frontends_and_dialects_never_touch_the_store() -> None:
    """They call verbs and questions of the engine; `home.store` is only the name of a file."""
    touched = {
        f"{name_of(place)}:{node.lineno}"
        for place in MODULES
        if {"frontends", "dialects"} & {*place.parts}
        for node in ast.walk(ast.parse(place.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "store"
        if not ast.unparse(node.value).endswith("home")
    }

    assert touched == set()


# What a command must not import: each of these takes longer than the rest of the command.
NEVER = {
    "argparse", "asyncio", "concurrent.futures", "contextlib", "ctypes", "dataclasses", "importlib.metadata",
    "inspect", "logging", "pathlib", "random", "shutil", "socket", "subprocess", "tempfile", "threading",
    "tomllib", "typing",
}  # fmt: skip
SELDOM = {"enum", "json", "re"}

# What belongs to a fleet; a home that has not joined one must not pay for it.
FLEET = re.compile(r"errands\.(hosts|engine\.fleet|ports\.fleet)\b|psycopg|procrastinate")

HOT = {
    "ls": NEVER | SELDOM,
    "wait ID": NEVER | SELDOM,
    "run --batch cold -- sleep 100": NEVER,
    "run -- echo hello": NEVER | SELDOM,
    "show ID": NEVER,
    "cancel ID": NEVER,
}


def errands(words: str, home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command, env = line(words, home, *options)
    return subprocess.run(
        command, env=env, cwd=home.parent, text=True, capture_output=True, timeout=60, check=False
    )


def line(words: str, home: Path, *options: str) -> tuple[list[str], dict[str, str]]:
    """Return the words that run a command in a home, and its environment; `options` are Python's."""
    script = str(Path(sys.executable).with_name("errands"))
    env = {**os.environ, "ERRANDS_HOME": str(home), "XDG_CONFIG_HOME": str(home.parent)}
    return [sys.executable, *options, script, *words.split()], env


def imported_by(said: str) -> set[str]:
    """Return the modules that a process imported which ran with `-X importtime`."""
    lines = [each for each in said.splitlines() if each.startswith("import time:")]
    return {each.rpartition("|")[2].strip() for each in lines}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with a daemon and a configuration file; nothing is left running in it."""
    home = tmp_path_factory.mktemp("cold") / "home"
    config = home.parent / "errands" / "config.toml"
    config.parent.mkdir()
    config.write_text('[runs]\ntimeout = "2h"\n\n[approval]\nallow = ["npm test"]  # ours\n')
    errands("daemon start", home)
    yield home
    errands("daemon stop", home)


@pytest.mark.parametrize("words", HOT)
def test_a_command_imports_nothing_heavy(words: str, home: Path) -> None:
    command = "true" if words.startswith("wait") else "sleep 100"
    task_id = json.loads(errands(f"run --json --batch cold -- {command}", home).stdout)["id"]

    answer = errands(words.replace("ID", task_id), home, "-X", "importtime")
    errands("cancel --batch cold", home)

    assert answer.returncode == 0, answer.stderr
    imported = imported_by(answer.stderr)
    assert "errands.engine.engine" in imported
    assert sorted(imported & HOT[words]) == []
    assert ("errands.model.options.table" in imported) == words.startswith("run")
    assert of_a_fleet(imported) == []


def of_a_fleet(modules: set[str]) -> list[str]:
    """Return those that only a home in a fleet needs."""
    return sorted(each for each in modules if FLEET.match(each))


@pytest.mark.parametrize(
    ("has_joined", "expected"),
    [(False, []), (True, ["errands.ports.fleet", "errands.ports.fleet.placement"])],
)
def test_a_daemon_loads_of_a_fleet_only_what_it_needs(
    has_joined: bool, expected: list[str], tmp_path: Path
) -> None:
    """Only the host process of a home that has joined a fleet talks to the database."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    if has_joined:
        url = f"postgresql:///fleet?host={tmp_path}"  # there is none
        me = Membership(id="me", url=url, name="me", labels=(), slots=0)
        write_membership(str(home / "fleet.json"), me)
    command, env = line("daemon run", home, "-X", "importtime")
    with open(tmp_path / "said", "w") as said, subprocess.Popen(command, env=env, stdout=said, stderr=said):
        try:
            # Else the command would start another one.
            assert wait_until(lambda: daemon_facts(Home(path=str(home))) is not None, within=60)
            assert errands("run --wait -- echo hello", home).stdout == "hello\n"
        finally:
            errands("daemon stop", home)
    imported = imported_by((tmp_path / "said").read_text())

    assert "errands.engine.daemon.dispatcher" in imported
    assert of_a_fleet(imported) == expected
    assert imported.isdisjoint({"_ssl", "_hashlib"}), "OpenSSL takes 2 MB"


def test_the_command_itself_starts_without_importing_re() -> None:
    """The wrapper that pip writes for an entry point imports `re`, so the command is a script."""
    script = Path(sys.executable).with_name("errands")
    answer = subprocess.run(
        [sys.executable, "-X", "importtime", script, "--version"], text=True, capture_output=True, check=True
    )

    assert answer.stdout.startswith("errands ")
    assert not re.search(r"\| +re$", answer.stderr, re.MULTILINE)
