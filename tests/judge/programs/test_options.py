"""Options are read as the programs read them, and only those in the tables are accepted."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.judge import programs
from errands.judge.programs import FAMILIES, entry_for, reasons_for
from errands.judge.programs.entry import Program, table
from errands.judge.programs.git import SUBCOMMANDS
from errands.judge.programs.globs import Glob
from errands.judge.programs.usage import read
from tests.judge.programs.lines import PLACE, reasons

pytestmark = pytest.mark.spec("A2", "A3")

ENTRIES = {name: entry for name in FAMILIES if isinstance(entry := entry_for(name), Program)}
GIT = {f"git {name}": entry for name, entry in SUBCOMMANDS.items() if isinstance(entry, Program)}
ALL = ENTRIES | GIT
LONG = [
    (name, option) for name, entry in ALL.items() for option in table(entry).options if option[:2] == "--"
]
FILES = Path(programs.__file__).parent
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def test_every_table_is_in_the_list_of_families_and_nothing_else() -> None:
    known = {name: family for family in set(FAMILIES.values()) for name in _names(family)}
    tables = {file.stem for file in FILES.glob("*.py") if "\nPROGRAMS" in file.read_text()}

    assert known == FAMILIES
    assert tables == set(FAMILIES.values())


def _names(family: str) -> list[str]:
    module = importlib.import_module(f"errands.judge.programs.{family}")
    return [*module.PROGRAMS]


@given(st.sampled_from(LONG), st.integers(min_value=1, max_value=40), st.sampled_from(["", "=x", "=1"]))
def test_an_abbreviated_option_is_never_accepted(pair: tuple[str, str], cut: int, value: str) -> None:
    name, option = pair
    short = option[: max(3, len(option) - cut)]
    if short in table(ALL[name]).options:
        return

    assert reasons_for((*name.split(), short + value), PLACE)


@given(st.sampled_from(sorted(ALL)), st.text("abcdefghijklmnopqrstuvwxyz-", min_size=2, max_size=14))
def test_an_unknown_long_option_is_never_accepted(name: str, text: str) -> None:
    option = f"--{text}"
    if option in table(ALL[name]).options or not text.strip("-"):
        return

    assert reasons_for((*name.split(), option), PLACE)
    assert reasons_for((*name.split(), f"{option}=x"), PLACE)


@given(st.sampled_from(sorted(ALL)), st.sampled_from(LETTERS), st.text(LETTERS, max_size=3))
def test_an_unknown_letter_is_never_accepted(name: str, letter: str, before: str) -> None:
    options = table(ALL[name]).options
    flags = "".join(each for each in before if f"-{each}" in options and options[f"-{each}"].need == "none")
    if f"-{letter}" in options or ("-NUMBER" in options and (flags + letter).isdigit()):
        return

    assert reasons_for((*name.split(), f"-{flags}{letter}"), PLACE)


@pytest.mark.parametrize("name", sorted(ALL))
def test_what_a_table_refuses_it_does_not_accept(name: str) -> None:
    entry = table(ALL[name])

    assert not entry.refused.keys() & entry.options.keys()
    for option, said in entry.refused.items():
        found = reasons_for((*name.split(), option), PLACE)
        assert any(option in reason.text and said in reason.text for reason in found) or len(found) == 1


@pytest.mark.parametrize(
    ("line", "options", "operands"),
    [
        ("sort -nr a b", [("-n", None), ("-r", None)], ["a", "b"]),
        ("sort a -n b", [("-n", None)], ["a", "b"]),
        ("sort -k2 a", [("-k", "2")], ["a"]),
        ("sort -k 2 a", [("-k", "2")], ["a"]),
        ("sort -nk2 a", [("-n", None), ("-k", "2")], ["a"]),
        ("sort --key=2 a", [("--key", "2")], ["a"]),
        ("sort --key 2 a", [("--key", "2")], ["a"]),
        ("sort -- -n", [], ["-n"]),
        ("sort -", [], ["-"]),
        ("sort --check a", [("--check", None)], ["a"]),
        ("sort --check=quiet a", [("--check", "quiet")], ["a"]),
        ("head -20 a", [("-NUMBER", "20")], ["a"]),
        ("tail +5 a", [("+NUMBER", "5")], ["a"]),
        ("tr -d a -x", [("-d", None)], ["a", "-x"]),
        ("grep -e -x a", [("-e", "-x")], ["a"]),
    ],
)
def test_words_are_parted_as_getopt_does(
    line: str, options: list[tuple[str, str | None]], operands: list[str]
) -> None:
    name, *rest = line.split()

    usage = read(name, tuple(rest), ENTRIES[name], PLACE)

    assert (usage.options, usage.operands, usage.reasons) == (options, operands, [])


@pytest.mark.parametrize(
    "line",
    [
        "sort -k",  # a missing value
        "sort --key",
        "sort --reverse=yes",  # an unexpected value
        "sort -k --output=x",  # a value that looks like an option
        "head -n x",  # not a number
        "ls --sort=siz",  # an abbreviated value
        "git log --format --output=x",  # git takes no value from the next word here
        "uniq -c a b",  # an extra operand, which would be overwritten
        "hostname x",
    ],
)
def test_what_does_not_fit_is_asked_about(line: str) -> None:
    assert reasons(line)


def test_a_wildcard_is_accepted_where_any_number_of_files_is_allowed() -> None:
    assert reasons_for(("cat", Glob("src/*.py")), PLACE) == ()
    assert reasons_for(("grep", "foo", Glob("src/*")), PLACE) == ()
    assert reasons_for(("grep", "-r", Glob("--include=*.py"), "foo", "src"), PLACE) == ()


@pytest.mark.parametrize(
    "words",
    [
        ("uniq", Glob("src/*")),  # the second of two is overwritten
        ("xxd", Glob("src/*")),
        ("cat", Glob("*")),  # may begin with a dash
        ("cat", Glob("-*")),
        ("sort", "-k", Glob("src/*")),
        ("grep", Glob("src/*"), "file"),
        ("sort", Glob("--output?x")),
        ("sort", Glob("--output=*")),
        ("find", ".", "-name", Glob("src/*")),
    ],
)
def test_a_wildcard_is_asked_about_elsewhere(words: tuple[str, ...]) -> None:
    assert reasons_for(words, PLACE)


COREUTILS = (
    "ls cat head tail tac nl wc sort uniq cut tr paste join fold fmt expand unexpand shuf comm stat readlink "
    "realpath basename dirname du df od base64 md5sum cksum numfmt seq date uname id grep diff cmp"
).split()


@pytest.mark.parametrize("name", COREUTILS)
def test_the_tables_agree_with_the_programs_installed_here(name: str, tmp_path: Path) -> None:
    """An option needs a value in the table exactly if it needs one in the program."""
    if shutil.which(name) is None:
        pytest.skip(f"no {name} here")
    for option, known in table(ENTRIES[name]).options.items():
        if option.endswith("NUMBER") or (name == "cut" and known.need == "none"):
            continue  # cut prints something similar for every line without a list
        said = subprocess.run(
            [name, option],
            cwd=tmp_path,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
            input=b"",
            capture_output=True,
        ).stderr.decode()
        if not any(
            word in said for word in ("unrecognized", "invalid option", "illegal option", "unknown option")
        ):
            assert ("requires an argument" in said) == (known.need == "value"), (option, said)
    assert not [*tmp_path.iterdir()]
