"""The documents are true: commands run, every option and key is documented, links work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from errands import config
from errands.config import backends
from errands.frontends.cli import parser, reference, verbs
from errands.model.errors import BadValue
from errands.model.limits import BUDGETS
from errands.model.states import ENDED, LIVE
from errands.ports.home import Home
from errands.ports.rundir import CONTROL, LOG, PROGRESS
from tests.documents import DOCUMENTS, ROOT, Block, anchors, blocks, commands, links, named_files, prose

README = ROOT / "README.md"
CLI = ROOT / reference.PLACE
APPROVAL = ROOT / "docs" / "explanation" / "approval.md"
CONFIGURATION = ROOT / reference.SETTINGS
FIRST_TASKS = ROOT / "docs" / "tutorial" / "first-tasks.md"
AGENTS = ROOT / "docs" / "tutorial" / "agents.md"
PAGES = [place for place in DOCUMENTS if place.name not in ("requirements.md", "CHANGELOG.md")]


def name_of(place: Path) -> str:
    return str(place.relative_to(ROOT))


@pytest.mark.spec("X7")
def test_the_command_line_reference_is_up_to_date() -> None:
    assert CLI.read_text() == reference.reference(), "run 'make docs'"


@pytest.mark.spec("X7")
@pytest.mark.parametrize("name", [name for name in verbs.NAMES if name not in verbs.HIDDEN])
def test_every_verb_and_option_is_documented(name: str) -> None:
    section = CLI.read_text().partition(f"\n### errands {name}\n")[2].partition("\n### ")[0]

    assert [flag for option in verbs.load(name).options for flag in option.flags if flag not in section] == []
    assert f"errands {name}" in section


def test_the_documented_states_are_those_of_the_model() -> None:
    page = (ROOT / reference.DESIGN).read_text()

    assert page == reference.states(page), "run 'make docs'"


def test_the_python_page_lists_every_task_option() -> None:
    page = (ROOT / reference.PYTHON).read_text()

    assert page == reference.options(page), "run 'make docs'"


@pytest.mark.spec("X13")
def test_every_setting_is_documented() -> None:
    text = CONFIGURATION.read_text()
    keys = [key.path for key in config.KEYS if key.path not in text and f"\n{key.name} = " not in text]
    variables = [
        name for name in (*(key.variable for key in config.KEYS), *config.VARIABLES) if name not in text
    ]

    assert (keys, variables) == ([], [])


@pytest.mark.spec("X7")
@pytest.mark.parametrize(
    ("backend", "page"),
    [("builtin", "builtin-agent"), ("acp", "acp"), ("opencode", "agents"), ("command", "agents")],
)
def test_every_setting_of_an_agent_is_documented(backend: str, page: str) -> None:
    text, usual = ((ROOT / "docs" / "how-to" / f"{name}.md").read_text() for name in (page, "agents"))

    assert [key for key in backends.BACKENDS[backend] if f"`{key}`" not in text] == []
    assert [key for key in (*backends.COMMON, *BUDGETS) if f"`{key}`" not in usual] == []


@pytest.mark.spec("X13")
def test_no_document_names_a_variable_that_does_not_exist() -> None:
    known = {key.variable for key in config.KEYS} | set(config.VARIABLES)
    lanes = re.compile(r"ERRANDS_LANES_[A-Z]+")
    named = {
        (name_of(place), name)
        for place in PAGES
        for name in re.findall(r"\bERRANDS_[A-Z_]+\b", place.read_text())
    }

    assert [each for each in sorted(named) if each[1] not in known and not lanes.fullmatch(each[1])] == []


@pytest.mark.spec("X14")
def test_the_design_has_its_four_sections() -> None:
    text = (ROOT / reference.DESIGN).read_text()

    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    titles = [each.partition("\n")[0] for each in sections]
    assert titles == ["What & How", "Core Logic", "Config", "Files"]
    verbs, logic, settings, files = sections
    used = ("run", "approve", "wait", "notices", "ls", "cancel", "restart")
    assert [each for each in used if f"`errands {each}`" not in verbs] == []
    assert [each for each in (*LIVE, *ENDED) if f"| {each} |" not in logic] == []
    assert "(../reference/configuration.md)" in settings
    home = Home(path="/home")
    names = [os.path.basename(each) for each in (home.store, home.lock, home.bell, home.log, home.runs)]
    assert [each for each in (*names, LOG, PROGRESS, CONTROL) if each not in files] == []


@pytest.mark.parametrize("place", PAGES, ids=name_of)
def test_links_work(place: Path) -> None:
    for link in links(place):
        path, _, anchor = link.partition("#")
        target = (place.parent / path).resolve() if path else place
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.spec("X22")
@pytest.mark.parametrize("shelf", ["Tutorial", "How-to", "Reference", "Explanation"])
def test_the_index_has_every_page_under_its_shelf(shelf: str) -> None:
    index = ROOT / "docs" / "index.md"
    (section,) = re.findall(rf"^## {shelf}:.*?(?=^## |\Z)", prose(index), re.MULTILINE | re.DOTALL)
    pages = (index.parent / shelf.lower()).glob("*.md")

    assert {f"{page.parent.name}/{page.name}" for page in pages} == set(re.findall(r"\]\((.*?)\)", section))


@pytest.mark.parametrize(
    "name", ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/explanation/design.md", "README.md"]
)
def test_the_files_named_in_a_document_exist(name: str) -> None:
    made = {"errands.toml", "config.toml"}  # written by users
    roots = (
        ROOT,
        *(ROOT / "docs" / shelf for shelf in ("explanation", "reference")),
        ROOT / "src" / "errands",
    )
    named = named_files(ROOT / name) - made

    assert [file for file in sorted(named) if not any((root / file).exists() for root in roots)] == []
    assert named


def test_the_make_targets_named_in_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (name_of(p), target) for p in PAGES for target in re.findall(r"`?\bmake ([a-z-]+)\b`", p.read_text())
    }

    assert [each for each in sorted(named) if each[1] not in targets] == []


def written_commands() -> Iterator[tuple[str, list[str]]]:
    for block in blocks("sh", "console", places=PAGES):
        for words in commands(block.text):
            # A usage line with brackets or dots cannot be parsed.
            if words and not any(sign in word for word in words for sign in ("...", "[", "]")):
                yield name_of(block.place), words


@pytest.mark.parametrize(("place", "words"), list(written_commands()), ids=lambda each: " ".join(each)[:60])
def test_every_command_in_a_document_can_be_parsed(place: str, words: list[str]) -> None:
    if words[0] in ("--version", "--help", "help"):
        return
    try:
        name, rest = verbs.find(words)
        parser.parse(verbs.load(name), rest)
    except BadValue as error:
        pytest.fail(f"{place}: errands {' '.join(words)}: {error}")


# What replaces the programs that the documents run, with output like theirs.
STAND_IN = "#!/bin/sh\nfor part in 1 2 3; do echo $part/3; sleep 0.05; done; echo 12 passed in 0.30s\n"

# A usage error or an unknown task is a mistake in the document; a failing task is not.
SESSION = """
errands() {
    command errands "$@"; local code=$?
    case $code in 2|3|126|127) echo "errands $* ended with $code" >> "$COMPLAINTS";; esac
    return $code
}
"""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Set up a home and stand-in programs for a document; stop what it started."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("make", "npm", "pip", "git"):
        (programs / name).write_text(STAND_IN)
        (programs / name).chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ERRANDS_HOME": str(tmp_path / "home"),
        "COMPLAINTS": str(tmp_path / "complaints"),
    }
    yield env
    subprocess.run(["errands", "daemon", "stop"], env=env, capture_output=True, check=False)


def session(place: Path) -> str:
    """Return a script of everything a document tells users to type."""
    lines = [
        line.removeprefix("$ ")
        for block in blocks("sh", "console", places=[place])
        for line in block.text.splitlines()
        if block.language == "sh" or line.startswith("$ ")
    ]
    return SESSION + "\n".join(lines)


@pytest.mark.spec("X7")
@pytest.mark.parametrize(
    ("place", "seen"),
    [(README, "12 passed"), (FIRST_TASKS, "cancelled"), (AGENTS, "13 passed"), (APPROVAL, "rejected")],
    ids=["readme", "first tasks", "agents", "approval"],
)
def test_the_commands_of_a_document_work_in_order(
    stage: dict[str, str], tmp_path: Path, place: Path, seen: str
) -> None:
    script = session(place)
    assert "errands" in script.removeprefix(SESSION)

    # In a terminal, because users type this.
    person = pexpect.spawn(
        "bash",
        ["-c", script],
        cwd=str(tmp_path),
        env=stage,
        timeout=100,
        encoding="utf-8",
    )
    said = ""
    while person.expect([r"\[y/.*N\] ", pexpect.EOF]) == 0:
        said += person.before or ""
        person.sendline("n")
    said += person.before or ""

    complaints = Path(stage["COMPLAINTS"])
    assert not complaints.exists(), f"{complaints.read_text()}\n{said}"
    assert "command not found" not in said
    assert seen in said


def programs() -> Iterator[Block]:
    for place in sorted(ROOT.glob("examples/*.py")):
        yield Block(place, "python", place.read_text())
    for block in blocks("python", places=PAGES):
        if block.text.startswith("async with"):
            body = textwrap.indent(block.text, "    ")
            yield block._replace(
                text=f"import asyncio\nimport errands\nasync def main():\n{body}\nasyncio.run(main())\n"
            )
        else:
            yield block


@pytest.mark.spec("X11")
@pytest.mark.parametrize("block", list(programs()), ids=lambda block: name_of(block.place))
def test_the_programs_in_the_documents_run(block: Block, stage: dict[str, str], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(block.text)

    run = subprocess.run(
        [sys.executable, "-W", "error", program],
        cwd=tmp_path,
        env=stage,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_there_are_commands_and_programs_to_try() -> None:
    assert len(list(written_commands())) > 10
    assert {block.place.suffix for block in programs()} == {".py", ".md"}
