"""What people see at 40, 80 and 140 columns: the main outputs of every verb, kept in `goldens/` to look at.

After a change that is meant: `make goldens`, then read the difference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.frontends.cli.help import family, overview, verb_help
from errands.frontends.cli.verbs import FAMILIES, GROUPS, load
from errands.model.text.width import JOINTS, MINOR_JOINTS, width
from errands.text import Look
from tests.frontends.cli.scene import Scene

PLACE = Path(__file__).with_name("goldens")
WIDTHS = (40, 80, 140)
REWRITE = "GOLDENS"
# By file; each file holds the outputs of several commands.
COMMANDS: dict[str, list[str]] = {
    "ls": [
        "ls",
        "ls --all",
        "ls --state failed --state cancelled",
        "ls --batch nightly",
        "ls --columns id,state,lane,command",
        "ls --state skipped",
    ],
    "show": [
        "show train-model",
        "show unit-tests",
        "show odd-ending",
        "show deploy",
        "show backup",
        "show echo-hello",
        "show clean",
    ],
    "logs": ["logs unit-tests", "wait unit-tests build-docs", "logs deploy"],
    "audit": ["audit", "audit clean", "judge echo hello", "judge -- rm -rf build", "approve nothing"],
    "notices": ["notices --peek", "notices --undelivered", "sessions", "sessions echo-hello"],
    "schedule": ["schedule backup", "trace unit-tests"],
    "queue": [
        "hold gpu-job-3",
        "release gpu-job-3",
        "release gpu-job-3",
        "move gpu-job-5",
        "move gpu-job-5 --before gpu-job-6",
        "move train-model",
        "edit gpu-job-4 --timeout 1h",
        "edit gpu-job-4",
        "edit deploy echo deploying to staging",
        "lane",
        "lane gpu",
        "lane local 3",
        "lane",
        "lane local default",
        "lane nightly 2",
        "lane nightly 0",
        "lane nightly default",
        "lane nowhere",
        "pause dev-server",
        "ls --state running",
        "show dev-server",
        "unpause dev-server",
        "pause build-docs",
        "resume dev-server",
        "release gpu-job",
    ],
    "run": [
        "run -q --name quick --lane gpu true",
        "run --name queued --lane gpu true",
        "run --name held --after dev-server true",
        "run --name later --at +3h true",
        "run --name hourly --every 1h true",
        "propose --name asked true",
        "cancel quick",
        "cancel build-docs",
        "send build-docs hello",
        "pause backup",
        "unpause backup",
    ],
    "words": [
        "",
        "run --label x true",
        "run --delay 10m true",
        "run --lane gpuu true",
        "run --priority 5 true",
        "clear",
        "upgrade",
        "version",
        "group add gpu",
        "parallel 3",
        "uninstall",
    ],
    "template": ["template ls", "template show greet"],
    "daemon": ["daemon status", "daemon start", "config check"],
}
# Those that name what is installed here, or list every field or setting, are only measured.
MEASURED = ["doctor", "agents ls", "channel ls", "config show", "ls --columns id,stat"]
ID = re.compile(r"[a-z0-9-]+-[a-z0-9]{6}")
NEW = re.compile(r"\b(quick|queued|held|later|hourly|asked)-[a-z0-9]{6}")  # other ids at each width
DRAWN = frozenset("█░─·│┆└…")


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.leaves()


@pytest.mark.spec("X21")
@pytest.mark.parametrize("name", COMMANDS)
def test_what_people_see_is_as_it_was(scene: Scene, name: str) -> None:
    for columns in WIDTHS:
        said = "\n".join(
            f"$ errands {command}\n{scene.captures(*command.split(), columns=columns)}"
            for command in COMMANDS[name]
        )
        file = PLACE / str(columns) / f"{name}.txt"
        if os.environ.get(REWRITE) == "write":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(said)
        assert file.read_text() == said, f"{file.relative_to(PLACE)} differs; if that is meant: make goldens"


@pytest.mark.spec("X21")
@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_wider_than_the_terminal(name: str, columns: int) -> None:
    text = (PLACE / str(columns) / f"{name}.txt").read_text()

    assert [line for line in said(text) if width(line) > columns] == []


@pytest.mark.spec("X21")
@pytest.mark.parametrize("columns", WIDTHS[:-1])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_word_is_broken(name: str, columns: int) -> None:
    """Every word of a narrow output is one of the wide one, unless a table clips it or a path is too long."""
    wide, narrow = (
        words_of(said((PLACE / str(each) / f"{name}.txt").read_text())) for each in (140, columns)
    )

    assert [word for word in narrow if is_broken(word, wide)] == []


@pytest.mark.spec("X21")
@pytest.mark.parametrize("columns", [40, 80])
def test_what_differs_between_machines_fits_too(scene: Scene, columns: int) -> None:
    for command in MEASURED:
        lines = scene.captures(*command.split(), columns=columns).splitlines()
        assert [line for line in lines if width(line) > columns and " " in line.strip()] == [], command


@pytest.mark.spec("X21")
@pytest.mark.parametrize("columns", WIDTHS)
def test_help_fits_and_breaks_no_word(columns: int) -> None:
    look, wide = Look(columns=columns), Look(columns=100_000)
    texts = [(overview(look), overview(wide))]
    texts += [(family(name, look), family(name, wide)) for name in FAMILIES]
    for verb in (load(name) for _, names in GROUPS for name in names):
        texts.append((verb_help(verb, look), verb_help(verb, wide)))
    for narrow, whole in texts:
        assert [line for line in narrow.splitlines() if width(line) > columns] == []
        words = words_of(whole.splitlines())
        assert [word for word in words_of(narrow.splitlines()) if is_broken(word, words)] == []


def said(text: str) -> list[str]:
    """Return what the commands printed, without the commands themselves."""
    return [line for line in text.splitlines() if not line.startswith("$ errands ")]


def words_of(lines: list[str]) -> set[str]:
    """Return the words of an output; choices between bars count as words, and new ids as equal."""
    words = [NEW.sub(r"\1-222222", word) for line in lines for word in line.split()]
    return {part for word in words for part in word.split("|") if part}


def is_broken(word: str, wide: set[str]) -> bool:
    if word in wide or DRAWN & set(word):
        return False
    # An id shrinks to a beginning that can be typed; a path may be broken after a slash.
    whole = [each for each in wide if word in each]
    shrunk = any(each.startswith(word) and ID.fullmatch(each) for each in whole)
    joints = JOINTS + MINOR_JOINTS
    return not shrunk and not any(
        (each.startswith(word) or each[each.index(word) - 1] in joints)
        and (each.endswith(word) or word[-1] in joints)
        for each in whole
        if len(each) > 20
    )
