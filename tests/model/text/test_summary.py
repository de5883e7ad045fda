"""The summary of a run is the line in which a tool says how it went; the outputs are real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.text.summary import LONGEST_SUMMARY, summarise

pytestmark = pytest.mark.spec("O8")

OUTPUTS = Path(__file__).parent / "outputs"

SUMMARIES = {
    "pytest-failed": ("pytest", 1, "6 passed, 1 failed, 1 error, 1 skipped, 1 xfailed"),
    "pytest-quiet": ("pytest -q", 0, "2 passed"),
    "pytest-colour": ("pytest --color=yes", 0, "2 passed"),
    "pytest-error": ("pytest", 2, "1 error"),
    "pytest-none": ("pytest -k nothing", 5, "2 deselected, but exit code 5"),
    "unittest-failed": ("python -m unittest", 1, "1 passed, 1 failed, 1 error, 1 skipped, 1 xfailed"),
    "unittest-ok": ("python -m unittest -v", 0, "1 passed, 1 skipped"),
    "jest-failed": ("npx jest", 1, "2 passed, 1 failed, 1 skipped"),
    "jest-ok": ("npx jest", 0, "1 passed"),
    "vitest-failed": ("npx vitest run", 1, "4 passed, 1 failed, 1 skipped"),
    "vitest-ok": ("npx vitest run", 0, "2 passed"),
    "go-failed": ("go test ./...", 1, "2 packages passed, 1 package failed (TestTax, TestCart)"),
    "go-ok": ("go test ./...", 0, "2 packages passed"),
    "go-verbose": ("go test -v ./...", 1, "2 passed, 1 failed, 1 skipped"),
    "go-build": ("go test ./...", 1, "1 package passed, 1 package failed"),
    "cargo-failed": ("cargo test --no-fail-fast", 101, "3 passed, 1 failed, 1 skipped"),
    "cargo-ok": ("cargo test", 0, "3 passed, 1 skipped"),
    "ruff-failed": ("ruff check", 1, "3 errors (3 fixable)"),
    "ruff-concise": ("ruff check --output-format=concise", 1, "3 errors (3 fixable)"),
    "ruff-ok": ("ruff check", 0, "all checks passed"),
    "ruff-format": ("ruff format --check", 1, "1 file would be reformatted, 1 file already formatted"),
    "mypy-failed": ("mypy .", 1, "2 errors in 1 file"),
    "mypy-ok": ("mypy .", 0, "no issues in 1 file"),
    "make-failed": ("make", 2, "target build failed (Error 1)"),
    "make-norule": ("make nope", 2, "no rule to make target 'nope'"),
    "make-uptodate": ("make up", 0, "nothing to be done for 'up'"),
    "make-pytest": ("make test", 2, "6 passed, 1 failed, 1 error, 1 skipped, 1 xfailed"),
}


def test_every_kept_output_is_tried() -> None:
    assert {place.stem for place in OUTPUTS.iterdir()} == set(SUMMARIES)


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_tool_is_recognised(name: str) -> None:
    command, exit_code, summary = SUMMARIES[name]

    assert summarise(command, (OUTPUTS / f"{name}.txt").read_text(), exit_code=exit_code) == summary


def test_the_last_tool_counts() -> None:
    output = (
        "All checks passed!\nSuccess: no issues found in 3 source files\n== 89 passed, 2 failed in 3.21s ==\n"
    )

    assert summarise("make", output, exit_code=1) == "89 passed, 2 failed"


def test_a_long_run_says_its_hours_too() -> None:
    assert (
        summarise("pytest", "== 2 failed, 89 passed in 4210.11s (1:10:10) ==", exit_code=1)
        == "89 passed, 2 failed"
    )


def test_a_failed_run_is_never_called_a_success() -> None:
    output = "Required test coverage of 90% not reached. Total coverage: 85.00%\n== 89 passed in 1.20s ==\n"

    assert summarise("pytest", output, exit_code=1) == "89 passed, but exit code 1"


def test_many_errors_stay_many() -> None:
    assert summarise("pytest", "21 errors in 0.10s", exit_code=1) == "21 errors"


@pytest.mark.parametrize(
    ("output", "code", "said"),
    [
        (
            "/bin/bash: line 1: ./build.sh: No such file or directory\n",
            127,
            "./build.sh: No such file or directory",
        ),
        ("bash: line 3: /etc/passwd: Permission denied\n", 126, "/etc/passwd: Permission denied"),
        ("built\nsh: 1: mkae: not found\n", 127, "mkae: not found"),
        ("/bin/bash: line 1: mkae: command not found\n", 127, "mkae: command not found"),
        ("/bin/bash: line 1: mkae: command not found\n", 0, None),
        ("server: 1: ready: yes\n", 1, None),
        ("exit 127\n", 127, None),
    ],
)
def test_a_program_that_did_not_start_is_named(output: str, code: int, said: str | None) -> None:
    assert summarise("./build.sh", output, exit_code=code) == said


@pytest.mark.parametrize(
    "output",
    [
        "",
        "hello\n",
        "3 passed the gate in 5s of waiting\n",
        "12 monkeys in 3.0s\n",
        "All checks passed! or not\n",
        "makefile: *** [x] Error 1\n",
    ],
)
def test_ordinary_output_has_no_summary(output: str) -> None:
    assert summarise("echo", output, exit_code=0) is None


@given(st.text(), st.text(), st.integers(0, 255))
def test_any_output_is_survived(command: str, output: str, exit_code: int) -> None:
    said = summarise(command, output, exit_code=exit_code)

    assert said is None or ("\n" not in said and len(said) < LONGEST_SUMMARY + 30)


@pytest.mark.parametrize(
    "piece",
    ["1 passed, ", "= ", "1 ", "Tests: 1 a, ", "make: *** ", "Found 1 error", "--- PASS: x ", "sh: 1: a: b "],
)
@pytest.mark.timeout(60)
def test_no_output_makes_it_slow(piece: str) -> None:
    for code in (0, 127):
        summarise("make", piece * 100_000, exit_code=code)
