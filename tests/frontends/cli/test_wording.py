"""What is said about mistakes, endings and the installation: short, true, and once."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from errands.text import size
from tests.frontends.cli.person import Person


@pytest.mark.spec("X7")
@pytest.mark.parametrize(
    ("line", "place"),
    [("echo 'oops", 6), ('grep -r "x y', 9), ("echo one\necho 'two", 15), ("echo it's", 8)],
)
def test_an_unclosed_quote_is_a_mistake_and_shown(person: Person, line: str, place: int) -> None:
    before = len(person.types("ls", "--all", "--json").out.splitlines())
    said = person.types("run", line, yes=False, code=2).err.splitlines()

    assert f"quote at character {place} is not closed; close it, or put a backslash before it:" in said[0]
    typed, caret = said[-2:]
    assert line.endswith(typed[2:])
    assert typed[caret.index("^")] == line[place - 1]
    assert len(person.types("ls", "--all", "--json").out.splitlines()) == before


@pytest.mark.parametrize(
    "line",
    ["echo hi # don't", "cat <<'END'\nit's\nEND", "echo \"$(echo ')' )\"", "echo \\'", 'echo \'a\\\' "b\\""'],
)
def test_a_line_that_the_shell_understands_is_not_refused_for_its_quotes(person: Person, line: str) -> None:
    person.types("run", "-q", line)


@pytest.mark.spec("X7")
def test_an_empty_key_and_an_agents_option_are_refused_with_the_reason(person: Person) -> None:
    assert "--key cannot be empty; leave it out" in person.types("run", "--key", "", "true", code=2).err
    assert (
        "it is for agents; see errands ask --budget" in person.types("run", "--budget", "5", "x", code=2).err
    )
    assert "did you mean" not in person.types("ls", "--budget", "5", code=2).err


@pytest.mark.spec("X7")
def test_a_script_is_told_about_a_wrong_directory_and_an_empty_key(person: Person) -> None:
    script = (
        "import errands, sys\ntry: errands.submit('true', {})\nexcept errands.BadValue as error: print(error)"
    )

    def says(option: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", script.replace("{}", option)],
            env={**person.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert says("cwd='/nope'") == (
        "cwd: '/nope' is not a directory; create it first, or let a task named in `after` create it"
    )
    assert says("key=''").startswith("key cannot be empty; leave it out")


@pytest.mark.spec("X7")
def test_what_cannot_be_undone_is_said_once(person: Person) -> None:
    assert person.types("judge", "rm -rf build", code=4).out.count("be undone") == 1


@pytest.mark.spec("X7")
def test_one_run_of_a_task_can_be_shown(person: Person) -> None:
    task_id = person.finishes("echo $ERRANDS_RUN_ID; exit 3")
    person.types("restart", "-w", "-q", task_id, code=3)
    shown = person.types("show", f"{task_id}.1").out

    assert shown.startswith(f"{task_id}.1  ✗ failed\n")
    assert f"\n{task_id}.1\n" in shown
    assert person.types("show", f"{task_id}.1", "--json").object["run_id"] == f"{task_id}.1"
    assert "has no run '3'" in person.types("show", f"{task_id}.3", code=3).err


@pytest.mark.spec("X7")
def test_what_a_cancelled_task_printed_last_is_not_its_reason(person: Person) -> None:
    task_id = person.starts("--stdin", "printf '== %s failed, %s passed in 2s ==\\n' 3 1; read line")
    person.waits_for_output(task_id, "3 failed")
    said = person.types("cancel", task_id).out

    assert "⊘ cancelled" in said
    for text in (said, person.types("ls").out, person.types("notices").out):
        (line,) = [line for line in text.splitlines() if line.startswith(task_id)]
        assert "1 passed" not in line


@pytest.mark.spec("X7")
def test_a_notice_words_an_exit_code_as_the_list_does(person: Person) -> None:
    task_id = person.starts("false")
    person.waits_until_reported(task_id)

    for text in (person.types("ls").out, person.types("notices").out):
        (line,) = [line for line in text.splitlines() if line.startswith(task_id)]
        assert "exit 1" in line


@pytest.mark.spec("X7")
def test_doctor_counts_the_log_of_the_store(newcomer: Person) -> None:
    newcomer.finishes("true")
    # A reader keeps the log from being merged into the database.
    words = [sys.executable, "-c", READER, str(newcomer.home / "errands.db")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as held:
        try:
            assert held.stdout is not None
            held.stdout.readline()
            newcomer.finishes("true")
            assert (newcomer.home / "errands.db-wal").stat().st_size > 0
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                before = bytes_of_store(newcomer)
                said = newcomer.types("doctor", code=None).out
                if before == bytes_of_store(newcomer):  # the daemon did not write meanwhile
                    break
            assert f"is not damaged ({size(before)})" in said
        finally:
            held.kill()


def bytes_of_store(person: Person) -> int:
    return sum((person.home / name).stat().st_size for name in ("errands.db", "errands.db-wal"))


READER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("BEGIN")
db.execute("SELECT count(*) FROM tasks").fetchone()
print("reading", flush=True)
sys.stdin.read()
"""


def test_a_variable_before_several_words_is_not_taken_for_a_program(person: Person) -> None:
    for words in (["A=1 2", "env"], ["--", "A=1 2"]):
        said = person.types("run", *words, code=2).err
        assert "errands: 'A=1 2' is not a program; set a variable with --env 'A=1 2'" in said
    assert person.types("run", "--wait", "-q", "A=1 env | grep ^A=").out == "A=1\n"
    assert person.types("run", "--wait", "-q", "echo", "A=1").out == "A=1\n"


def test_a_path_is_no_task_and_shown_as_it_was_typed(person: Person) -> None:
    assert person.types("show", "../x", code=3).err.startswith("errands: unknown task '../x'; ")


def test_a_program_that_is_not_there_is_named_as_the_reason(person: Person) -> None:
    task_id = person.types("run", "-q", "./missing.sh").out.strip()

    ended = person.types("wait", task_id, code=127).out
    assert ended.endswith("exit 127 · ./missing.sh: No such file or directory\n")
    assert "./missing.sh: No such file or directory" in person.types("show", task_id).out
