"""Ids are readable, and only texts of exactly their shape are accepted."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from errands.model.errors import BadValue, NotFound
from errands.model.run import task_of
from errands.model.text.ids import (
    ALPHABET,
    LONGEST_TASK_ID,
    SHORTENED,
    SUFFIX_LENGTH,
    command_slug,
    ends_of_id,
    is_id,
    is_run_id,
    is_task_id,
    new_id,
    short_id,
    slug,
)
from tests.samples import sample_run

RANDOM = bytes(range(8))


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("build", "build"),
        ("Run the Tests!", "run-the-tests"),
        ("Überprüfung", "uberprufung"),
        ("--weird--name--", "weird-name"),
        ("日本語", "task"),
        ("", "task"),
        ("../../etc/passwd", "etc-passwd"),
        ("a\0b", "a-b"),
        ("x" * 5000, "x" * 32),
        ("a" * 31 + " b", "a" * 31),
    ],
)
def test_a_name_becomes_the_readable_half_of_an_id(name: str, readable: str) -> None:
    assert slug(name) == readable


@pytest.mark.spec("L4")
@pytest.mark.parametrize(
    ("command", "readable"),
    [
        ("pytest -q tests", "pytest"),
        ("/usr/bin/make all", "make"),
        ("python3 -m pytest -q", "pytest"),
        ("python3.12 -m http.server 8000", "http"),
        ("python train.py --epochs 3", "train"),
        ("python -c 'print(1)'", "python"),
        ("./scripts/deploy.sh prod", "deploy"),
        ("bash -lc 'cargo test'", "cargo"),
        ('sh -c "nohup sleep 5 > /dev/null"', "sleep"),
        ("bash build.sh", "build"),
        ("env A=1 B=2 npm test", "npm"),
        ("A=1 B=2 npm test", "npm"),
        ("nohup timeout 10s nice -n 5 make", "make"),
        ("timeout --signal KILL 10 make", "make"),
        ("sudo -u me -E rsync a b", "rsync"),
        ("uv run pytest", "pytest"),
        ("npx jest", "jest"),
        ("time -p ls", "ls"),
        ("cd /srv/app && go test ./...", "go"),
        ("set -e; cd x; make", "make"),
        ("(cd x && make)", "make"),
        ("! grep x file", "grep"),
        ("sleep 5 && echo done", "sleep"),
        ("cd /tmp", "cd"),
        ("nohup", "shell"),
        ("", "shell"),
        ("   ", "shell"),
        ("'unclosed quote", "unclosed-quote"),
        ("yes | head -n 3", "yes"),
    ],
)
def test_a_command_is_named_after_the_program_that_does_the_work(command: str, readable: str) -> None:
    assert command_slug(command) == readable


@given(st.text(), st.binary(min_size=8))
@example("a" * 400, RANDOM)
def test_any_text_gives_a_good_id(text: str, randomness: bytes) -> None:
    for made in (new_id(slug(text), randomness), new_id(command_slug(text), randomness)):
        assert is_task_id(made)
        assert len(made) <= LONGEST_TASK_ID
        assert made[-6:].strip(ALPHABET) == ""


def test_random_bytes_make_the_difference() -> None:
    assert new_id("pytest", RANDOM) != new_id("pytest", RANDOM[::-1])


def test_too_little_randomness_is_refused() -> None:
    with pytest.raises(ValueError, match="8 random bytes"):
        new_id("pytest", b"1234567")


def test_an_invalid_slug_is_refused() -> None:
    with pytest.raises(BadValue, match="cannot be part of an id"):
        new_id("../x", RANDOM)


def test_a_run_is_named_after_its_task() -> None:
    assert sample_run("pytest-7k2m4x", number=3).id == "pytest-7k2m4x.3"
    assert task_of("pytest-7k2m4x.3") == ("pytest-7k2m4x", 3)


NO_IDS = [
    "",
    ".",
    "..",
    "../../etc/passwd",
    "%2e%2e",
    "-7k2m4x",
    "pytest",
    "pytest-",
    "pytest-7k2m4",
    "pytest-7k2m4xx",
    "pytest-7k2m4l",
    "Pytest-7k2m4x",
    "py test-7k2m4x",
    "pytest--7k2m4x",
    "pytest-7k2m4x\n",
    "pytest-7k2m4x\0",
    "pytest-7k2m4x/..",
    "pytest-7k2m4x.1",
    "pytëst-7k2m4x",
    "pytest-7k2m4x\u0661",
    "pytest-\uff17k2m4x",
    "a" * 4096 + "-7k2m4x",
    "a" * 33 + "-7k2m4x",
]


@pytest.mark.fault("F54")
@pytest.mark.parametrize("text", NO_IDS)
def test_other_texts_are_not_ids(text: str) -> None:
    assert not is_task_id(text)
    assert not is_run_id(text + ".1") or text == "pytest-7k2m4x"


@pytest.mark.fault("F54")
@pytest.mark.parametrize("number", ["", "0", "01", "-1", "+1", "1.1", "1 ", "\u0661", "1" * 10, "1_0"])
def test_a_run_has_a_plain_number(number: str) -> None:
    assert not is_run_id(f"pytest-7k2m4x.{number}")
    with pytest.raises(NotFound, match="not a run's id"):
        task_of(f"pytest-7k2m4x.{number}")


@pytest.mark.fault("F54")
@given(st.text(alphabet=st.sampled_from("abz279.-/\\%\0\n é٣_A"), max_size=60))
def test_ids_hold_nothing_that_means_something_in_a_path(text: str) -> None:
    for is_one in (is_task_id, is_run_id, is_id):
        if is_one(text):
            assert text.isascii()
            assert text.replace("-", "").replace(".", "").isalnum()
            assert ".." not in text
            assert not text.startswith((".", "-"))


@pytest.mark.spec("L4")
@pytest.mark.parametrize(
    "text", ["p", "pytest", "pytest-", "pytest-7k", "pytest-7k2m4x", "py…7k2m4x", "~7k2m4x"]
)
def test_the_beginning_of_an_id_can_name_a_task(text: str) -> None:
    assert is_id(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "P",
        "pytest-7k2m4x.1",
        "a/b",
        "a" * 40,
        "pytest*",
        "%",
        "~",
        "py…",
        "py…7k",
        "py~7k2m4/",
        "a/b~7k2m4x",
        "-~7k2m4x",
        "py~7k2m4x~7k2m4x",
    ],
)
def test_a_text_that_cannot_begin_an_id_names_no_task(text: str) -> None:
    assert not is_id(text)


@pytest.mark.parametrize("mark", SHORTENED)
@given(room=st.integers(min_value=SUFFIX_LENGTH + 1, max_value=50))
def test_a_shortened_id_fits_and_names_its_task(mark: str, room: int) -> None:
    task_id = "why-is-the-build-red-7k2m4x"
    shown = short_id(task_id, room, mark=mark)
    beginning, end = ends_of_id(shown)

    assert len(shown) <= room
    assert is_id(shown)
    assert task_id.startswith(beginning)
    assert task_id.endswith(end)
    assert end or shown == task_id
