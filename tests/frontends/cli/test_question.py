"""The question at a real terminal: what it shows, which keys mean yes, and what happens to the task."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pexpect
import pytest

from tests.frontends.cli.person import COMMAND, Person
from tests.frontends.cli.terminal import END, INTERRUPT, Terminal, ended, plain

QUESTION = "/N] "  # the letters before it are the answers


def unwrapped(text: str) -> str:
    """Put lines that were too long together again."""
    return re.sub(r"\r\n +┆ ", "", plain(text))


def latest(person: Person, state: str) -> str:
    return str(person.types("ls", "-n", "1", "--state", state, "--json").object["id"])


@pytest.mark.spec("A12")
def test_typing_a_command_approves_it(person: Person, terminal: Terminal, precious: Path) -> None:
    said, code = ended(terminal.types("run", "--wait", "--cwd", str(precious), "touch x"))
    view = person.types("ls", "-n", "1", "--json").object

    assert code == 0
    assert QUESTION not in said
    assert (precious / "x").exists()
    assert (view["verdict"], view["approved_by"], view["door"]) == ("contained", "ada", "terminal")


@pytest.mark.spec("A12", "A14")
def test_a_typed_command_that_reaches_outside_is_asked_about_once_if_the_answer_is_always(
    person: Person, terminal: Terminal, precious: Path, tmp_path: Path
) -> None:
    (precious / "inner").mkdir()
    words = ("run", "--wait", "--cwd", f"{precious}/inner", f"touch {tmp_path}/outside")
    child = terminal.types(*words)
    child.expect_exact("Start it? y once, a always, n no [y/a/N] ")
    assert not (tmp_path / "outside").exists()
    child.sendline("a")
    assert ended(child)[1] == 0
    said, code = ended(terminal.types(*words))

    assert (tmp_path / "outside").exists()
    assert (code, QUESTION in said) == (0, False)


@pytest.mark.spec("A4", "A5", "A12")
def test_what_cannot_be_undone_is_asked_about_and_a_yes_starts_it(
    person: Person, terminal: Terminal, precious: Path
) -> None:
    child = terminal.types("run", "--wait", f"rm -rf {precious}")
    child.expect_exact(QUESTION)
    shown = unwrapped(child.before or "")
    stored = person.sees(latest(person, "proposed"))
    child.sendline("y")
    _, code = ended(child)
    view = person.sees(stored["id"])

    assert f"│ rm -rf {precious}\r\n" in shown
    assert f"│ deletes {precious} recursively; cannot be undone\r\n" in shown
    assert stored["command"] == f"rm -rf {precious}"
    assert (code, precious.exists()) == (0, False)
    assert (view["state"], view["approved_by"], view["door"]) == ("completed", "ada", "terminal")


@pytest.mark.spec("A5")
@pytest.mark.parametrize(
    "keys", ["n\r", "\r", "yess\r", "N\r", INTERRUPT, END, f"y{INTERRUPT}", f"y{END}{END}"]
)
def test_everything_but_a_yes_is_a_no(person: Person, terminal: Terminal, precious: Path, keys: str) -> None:
    child = terminal.types("run", "--wait", f"rm -rf {precious}")
    child.expect_exact(QUESTION)
    child.send(keys)
    said, code = ended(child)
    rejected = latest(person, "rejected")

    assert f"not started: {rejected} is rejected" in said
    assert (code, precious.exists()) == (4, True)
    assert person.types("ls", "--state", "proposed", "--json").out == ""
    assert person.sees(rejected)["approved_by"] is None


@pytest.mark.spec("A5")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_question_that_is_interrupted_means_no_task(
    person: Person, terminal: Terminal, precious: Path, number: signal.Signals
) -> None:
    child = terminal.types("run", f"rm -rf {precious}")
    child.expect_exact(QUESTION)
    child.kill(number)
    _, code = ended(child)

    assert (code, precious.exists()) == (4, True)
    assert person.types("ls", "--state", "proposed", "--json").out == ""


@pytest.mark.spec("A5")
def test_what_an_interrupt_means_is_said_on_a_line_of_its_own(terminal: Terminal, precious: Path) -> None:
    child = terminal.types("run", f"rm -rf {precious}")
    child.expect_exact(QUESTION)
    child.sendintr()
    said, code = ended(child)

    assert (code, precious.exists()) == (4, True)
    assert re.search(r"^not started: rm-\w+ is rejected", said, re.MULTILINE)


@pytest.mark.spec("A5", "A11")
def test_a_question_whose_program_was_killed_keeps_waiting(
    person: Person, terminal: Terminal, precious: Path
) -> None:
    child = terminal.types("run", f"rm -rf {precious}")
    child.expect_exact(QUESTION)
    child.kill(signal.SIGKILL)
    child.expect(pexpect.EOF)
    waiting = latest(person, "proposed")

    assert precious.exists()
    person.types("reject", waiting)


@pytest.mark.spec("A5")
def test_what_was_typed_ahead_is_not_an_answer(person: Person, terminal: Terminal, precious: Path) -> None:
    hurried = f"sleep 0.3; exec {' '.join(COMMAND)} run 'rm -rf {precious}'"
    child = terminal.starts(["sh", "-c", hurried])
    child.sendline("y")
    child.expect_exact(QUESTION)
    child.send("\r")
    _, code = ended(child)

    assert (code, precious.exists()) == (4, True)


@pytest.mark.spec("A10")
@pytest.mark.trap(67)
def test_two_questions_at_once_do_not_interfere(person: Person, terminal: Terminal, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first = terminal.types("run", "--wait", f"rm -rf {tmp_path}/one")
    second = terminal.types("run", "--wait", f"rm -rf {tmp_path}/two")
    first.expect_exact(QUESTION)
    second.expect_exact(QUESTION)
    second.sendline("yes")
    first.sendline("no")

    assert [ended(first)[1], ended(second)[1]] == [4, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.mark.spec("A10")
@pytest.mark.trap(67)
@pytest.mark.parametrize(("elsewhere", "said"), [("approve", "approved"), ("reject", "rejected")])
def test_a_question_that_was_answered_elsewhere_says_so(
    person: Person, terminal: Terminal, precious: Path, elsewhere: str, said: str
) -> None:
    child = terminal.types("run", f"rm -rf {precious}")
    child.expect_exact(QUESTION)
    waiting = latest(person, "proposed")
    person.types(elsewhere, "-q" if elsewhere == "approve" else "--json", waiting)
    child.sendline("y")
    told, code = ended(child)

    assert f"{waiting} was already {said} by ada" in told
    assert code == 4


@pytest.mark.spec("A4", "L16", "L19")
def test_the_question_shows_every_step_hook_variable_and_directory(
    terminal: Terminal, person: Person, precious: Path
) -> None:
    child = terminal.types(
        *(
            "run",
            "--cwd",
            str(precious),
            "--env",
            "TOKEN=sesame",
            "--env",
            "B=2\nC=3",
            "--before",
            "echo first",
        ),
        *(
            "--then",
            "echo 'a b'",
            "--then",
            "rm -rf " + "x" * 150,
            "--finally",
            "touch last",
            "--",
            "rm",
            "a b",
        ),
        columns=80,
    )
    child.expect_exact(QUESTION)
    said = child.before or ""
    shown = [line.rstrip() for line in plain(said).split("\r\n")]
    child.send("\r")
    ended(child)

    assert [
        line.split("│ ")[1] for line in shown if line.startswith(("  step", "  before", "  finally"))
    ] == [*("echo first", "rm 'a b'", "echo 'a b'", "rm -rf " + "x" * 56, "touch last")]
    assert "".join(line.partition("┆ ")[2] for line in shown if "┆ x" in line).startswith("x" * 94)
    assert f"  directory    │ {precious}\r\n" in unwrapped(said)
    assert "  variable     │ TOKEN=sesame" in shown
    assert "               │ C=3" in shown
    assert not [line for line in shown if len(line) > 80]


@pytest.mark.spec("A4")
@pytest.mark.parametrize(
    ("words", "shown"),
    [(["--every", "30m"], "when       │ every 30m"), (["--on", "file:*.py"], "when       │ on file:*.py")],
)
def test_the_question_says_what_starts_it_again(
    terminal: Terminal, precious: Path, words: list[str], shown: str
) -> None:
    child = terminal.types("run", *words, "--cwd", str(precious), "--", "rm", "a")
    child.expect_exact(QUESTION)
    said = child.before or ""
    child.send("\r")

    assert ended(child)[1] == 4
    assert shown in plain(said)


@pytest.mark.spec("A4", "A10")
@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"echo one\nprintf '\x1b[2J'\n", "│ echo one\r\n{0}│ printf '<U+001B>[2J'\r\n"),
        (b"if true\n\tthen\trm x\x0b\nfi\n", "│ if true\r\n{0}│     then    rm x<U+000B>\r\n{0}│ fi\r\n"),
        (b"true\n" * 500, "│ (too long to show here)\r\n"),
        (b"\xff\xfe\n", "│ (not text)\r\n"),
    ],
)
def test_the_question_shows_the_script_that_counts(
    terminal: Terminal, precious: Path, content: bytes, seen: str
) -> None:
    (precious / "s.sh").write_bytes(content)
    child = terminal.types("run", "--cwd", str(precious), "sh s.sh; rm -rf .")
    child.expect_exact(QUESTION)
    shown = unwrapped(child.before or "")
    child.send("\r")

    assert ended(child)[1] == 4
    assert f"  content of  │ {precious}/s.sh\r\n" in shown
    assert seen.format(" " * 14) in shown


@pytest.mark.spec("A4")
def test_a_question_longer_than_the_screen_says_so(terminal: Terminal, precious: Path) -> None:
    child = terminal.types("run", f"rm -rf {precious}" + "\necho more" * 30)
    child.expect(r"Start it\? Scroll up: these are \d\d lines\. .*\[y/.*N\] ")
    child.send("\r")

    assert ended(child)[1] == 4


@pytest.mark.spec("A4")
@pytest.mark.fault("F35")
@pytest.mark.parametrize("colour", ["1", ""])
def test_no_part_of_a_command_can_control_the_terminal(
    terminal: Terminal, precious: Path, colour: str
) -> None:
    nasty = "\x1b[2J\x1b]52;c;YQ==\x07\x9b31m\u202e\u2066\u200b\ufeff\x08\r\x0b\u05d0\u0301\U000e0041"
    child = terminal.types(
        "run", "--env", f"X={nasty}", "--", "rm", "-rf", f"{precious}{nasty}", NO_COLOR=colour
    )
    child.expect_exact(QUESTION)
    shown = plain(child.before or "")
    child.send("\r")
    ended(child)

    assert all(character.isprintable() for character in shown.replace("\r\n", ""))
    assert not set(shown) & set("\u05d0\u0301")
    spelt = "".join(
        f"<U+{ord(each):04X}>" for each in "\x9b\u202e\u2066\u200b\ufeff\x08\r\x0b\u05d0\u0301\U000e0041"
    )
    whole = unwrapped(shown)
    assert whole.count("<U+001B>[2J<U+001B>]52;c;YQ==<U+0007>") >= 2
    assert whole.count(spelt.replace("<U+009B>", "<U+009B>31m")) >= 2


def test_a_screen_without_unicode_gets_a_question_in_ascii(terminal: Terminal, precious: Path) -> None:
    child = terminal.types("run", "--", "rm", f"{precious}/ü", PYTHONIOENCODING="ascii")
    child.expect_exact(QUESTION)
    shown = child.before or ""
    child.send("\r")

    assert ended(child)[1] == 4
    assert shown.isascii()
    assert "<U+00FC>" in shown


@pytest.mark.spec("A12")
def test_yes_at_a_terminal_skips_the_question(person: Person, terminal: Terminal, precious: Path) -> None:
    said, code = ended(terminal.types("run", "--yes", "--wait", f"rm -rf {precious}"))

    assert (QUESTION in said, code, precious.exists()) == (False, 0, False)
    assert person.types("ls", "-n", "1", "--json").object["approved_by"] == "ada (--yes)"


@pytest.mark.spec("A12", "L15")
def test_templates_and_restarts_ask_the_same_question(
    person: Person, terminal: Terminal, precious: Path
) -> None:
    person.types("template", "save", "wipe", "rm -rf {{what}}")
    child = terminal.types("template", "run", "--wait", "wipe", f"what={precious}")
    child.expect_exact(QUESTION)
    child.sendline("y")
    assert ended(child)[1] == 0
    done = latest(person, "completed")
    precious.mkdir()
    restarted, code = ended(terminal.types("restart", "--wait", done))

    # The same command was approved by the same person: a restart needs no second yes.
    assert (QUESTION in restarted, code, precious.exists()) == (False, 0, False)


@pytest.mark.spec("A4", "D2")
def test_answering_a_proposal_at_a_terminal_shows_what_would_run(
    person: Person, terminal: Terminal, precious: Path
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    waiting = person.types(
        "run", "-q", "--env", f"TOKEN={secret}", f"rm -rf {precious}", yes=False, code=4
    ).out.strip()
    looked, _ = ended(terminal.types("show", waiting))
    said, code = ended(terminal.types("approve", "--wait", waiting))

    assert secret not in person.types("show", waiting).out
    for each in (looked, said):
        assert f"│ rm -rf {precious}\r\n" in unwrapped(each)
        assert f"│ TOKEN={secret}\r\n" in unwrapped(each)
    assert (code, precious.exists()) == (0, False)
    assert person.sees(waiting)["door"] == "terminal"


@pytest.mark.spec("A4")
def test_the_question_shows_inherited_variables_that_the_person_does_not_have(
    person: Person, terminal: Terminal, precious: Path
) -> None:
    waiting = person.types(
        "run",
        "-q",
        f"rm -rf {precious}",
        yes=False,
        code=4,
        GIT_SSH_COMMAND="/nowhere/evil",
        PAGER="less",
        COLOUR="blue",
    ).out.strip()
    said, _ = ended(terminal.types("show", waiting, PAGER="less"))

    assert re.search(r"inherited +│ GIT_SSH_COMMAND=/nowhere/evil\r\n", plain(said))
    assert "PAGER" not in said
    assert "COLOUR" not in said


def test_the_object_of_a_refused_start_says_that_it_was_rejected(terminal: Terminal, precious: Path) -> None:
    child = terminal.types("run", "--json", f"rm -rf {precious}")
    child.expect_exact(QUESTION)
    child.sendline("n")
    said, code = ended(child)

    assert '"state": "rejected"' in said
    assert code == 4


@pytest.mark.spec("A5")
def test_a_person_can_approve_what_they_have_rejected(
    terminal: Terminal, person: Person, precious: Path
) -> None:
    child = terminal.types("run", "--json", f"rm -rf {precious}")
    child.expect_exact(QUESTION)
    child.sendline("n")
    task = re.search(r'"id": "([^"]+)"', ended(child)[0])
    assert task is not None

    said, code = ended(terminal.types("approve", "--wait", task[1]))

    assert (code, precious.exists()) == (0, False)
    assert "because" in said
    assert "is started again" in said
