"""Approval at the command line: only harmless commands start without approval, by any verb."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.frontends.cli.person import COMMAND, Person

ERRANDS = " ".join(COMMAND)


@pytest.mark.spec("A1", "A12")
def test_what_is_harmless_starts_at_once_without_a_terminal(person: Person) -> None:
    answer = person.types("run", "--wait", "-q", "echo hello | cat", yes=False)
    view = person.types("ls", "--json", "-n", "1").object

    assert answer.out == "hello\n"
    assert (view["verdict"], view["approved_by"]) == ("auto", "judge")
    assert view["approved_at"] is not None


@pytest.mark.spec("A11", "A12", "D2")
@pytest.mark.trap(65, 66)
def test_a_caller_without_a_terminal_gets_a_proposal_that_says_how_to_answer(
    person: Person, precious: Path
) -> None:
    answer = person.types("run", f"rm -rf {precious}", yes=False, code=4)
    task_id = answer.proposal
    view = person.sees(task_id)

    assert f"deletes {precious} recursively; cannot be undone\n" in answer.out
    assert f"errands approve {task_id}\n" in answer.out
    assert f"errands reject {task_id}\n" in answer.out
    assert (view["state"], view["task_state"], view["verdict"]) == ("proposed", "proposed", "ask")
    assert (view["approved_by"], view["approved_at"]) == (None, None)
    assert [reason["undo"] for reason in view["reasons"]] == ["no"]
    assert view["approval"]
    assert view["expires_at"] > view["created_at"]
    assert precious.exists()
    person.types("reject", task_id)


@pytest.mark.spec("A11", "D1")
def test_a_proposal_waits_visibly(newcomer: Person, precious: Path) -> None:
    task_id = newcomer.types("run", "-q", f"rm -rf {precious}", yes=False, code=4).out.strip()
    for number in range(21):
        newcomer.types("run", "-q", "--at", "+1h", "--name", f"later-{number}", "true")

    assert f"{task_id} needs approval: errands approve {task_id}" in newcomer.types("ls").out
    assert "waiting for approval: deletes" in newcomer.types("ls", "--state", "proposed").out
    shown = newcomer.types("show", task_id).out
    assert "? proposed" in shown
    assert f"because     deletes {precious}" in shown
    assert f"errands approve {task_id}" in shown
    newcomer.waits_until_reported(task_id)
    told = newcomer.types("notices").out
    assert f"{task_id}  ? proposed" in told
    assert "deletes" in told
    assert f"{task_id} needs approval: errands approve {task_id}" in told
    assert precious.exists()


@pytest.mark.spec("A11", "O4")
def test_no_verb_waits_for_a_person(person: Person, precious: Path) -> None:
    attended = person.types("run", "--wait", f"rm -rf {precious}", yes=False, code=4)
    task_id = attended.proposal
    waited = person.types("wait", task_id, code=4)
    flat = person.types("wait", "--json", task_id, code=4).object
    both = person.types("wait", person.starts("exit 0"), task_id, code=4)

    assert f"errands approve {task_id}" in waited.out
    assert flat["state"] == "proposed"
    assert "completed" in both.out
    assert person.types("logs", "-f", task_id).out == ""
    person.types("reject", task_id)


@pytest.mark.spec("A5", "A7", "D2", "O2")
def test_an_approval_starts_it_and_is_on_record(person: Person, precious: Path) -> None:
    task_id = person.types("run", "-q", f"rm -rf {precious}", yes=False, code=4).out.strip()
    answer = person.types("approve", task_id)
    person.types("wait", task_id)
    view = person.sees(task_id)

    assert answer.out.startswith(f"started {task_id}")
    assert not precious.exists()
    assert (view["approved_by"], view["door"]) == ("ada", "cli")
    assert view["approved_at"] > view["created_at"]
    assert [(each["state"], each["by"]) for each in view["approvals"]] == [("granted", "ada")]
    assert "by ada (cli)" in person.types("show", task_id).out
    header = Path(view["output_file"]).read_text()
    assert "approved" in header
    assert "ada" in header


@pytest.mark.spec("A5", "D1", "D2")
@pytest.mark.trap(65)
def test_a_no_means_no_task(person: Person, precious: Path) -> None:
    task_id = person.types("run", "-q", f"rm -rf {precious}", yes=False, code=4).out.strip()
    answer = person.types("reject", task_id, "--note", "not on a Friday")

    assert answer.out == f"rejected {task_id}; it will not start\n"
    assert task_id not in person.types("ls").out
    assert task_id in person.types("ls", "--all").out
    assert task_id in person.types("ls", "--state", "rejected").out
    assert person.sees(task_id)["state"] == "rejected"
    person.waits_until_reported(task_id)
    assert person.types("wait", task_id, code=4).code == 4
    assert "not on a Friday" in person.types("audit", task_id).out
    assert "already rejected by ada" in person.types("approve", task_id, code=4).err
    assert precious.exists()


@pytest.mark.spec("A12")
def test_yes_is_recorded_as_such_and_can_be_switched_off(newcomer: Person, precious: Path) -> None:
    task_id = newcomer.finishes(f"touch {precious}/x")
    refused = newcomer.types("run", f"rm -rf {precious}", code=4, ERRANDS_APPROVAL_YES="false")
    waiting = refused.proposal

    assert newcomer.sees(task_id)["approved_by"] == "ada (--yes)"
    assert "--yes has no effect here: approval.yes is false" in refused.err
    assert (
        "approval.yes is false"
        in newcomer.types("approve", waiting, code=2, ERRANDS_APPROVAL_YES="false").err
    )
    assert newcomer.sees(waiting)["state"] == "proposed"
    assert precious.exists()


@pytest.mark.spec("A12", "A5")
@pytest.mark.trap(66)
def test_words_on_a_pipe_do_not_count_as_a_yes(person: Person, precious: Path) -> None:
    answer = person.types("run", f"rm -rf {precious}", yes=False, given="y\nyes\n", code=4)

    assert precious.exists()
    person.types("reject", answer.proposal)


@pytest.mark.spec("A9")
def test_what_a_rule_forbids_is_refused_and_nothing_is_created(newcomer: Person, precious: Path) -> None:
    answer = newcomer.types("run", f"ls && rm -rf {precious}", code=4, ERRANDS_APPROVAL_DENY="rm *")

    assert "forbids it: rm *" in answer.err
    assert newcomer.types("ls", "--all", "--json").out == ""
    assert "deny: " in newcomer.types("judge", "rm x", code=4, ERRANDS_APPROVAL_DENY="rm *").out
    assert precious.exists()


@pytest.mark.spec("A1", "L16", "L19")
@pytest.mark.fault("F60")
@pytest.mark.trap(70)
@pytest.mark.parametrize(
    "words",
    [
        ["run", "rm -rf {}"],
        ["run", "--", "rm", "-rf", "{}"],
        ["run", "--wait", "rm -rf {}"],
        ["run", "rm -rf {} &"],
        ["run", "--then", "rm -rf {}", "true"],
        ["run", "--before", "rm -rf {}", "true"],
        ["run", "--finally", "rm -rf {}", "true"],
        ["run", "--at", "+0s", "rm -rf {}"],
        ["run", "--key", "once", "rm -rf {}"],
        ["run", "--stdin", "rm -rf {}"],
        ["run", "--pty", "rm -rf {}"],
        ["template", "run", "cleaning", "what={}"],
        ["restart", "cleaned"],
        ["propose", "rm -rf {}"],
    ],
    ids=lambda words: " ".join(words),
)
def test_no_entrance_leads_past_the_judge(newcomer: Person, precious: Path, words: list[str]) -> None:
    newcomer.types("template", "save", "cleaning", "rm -rf {{what}}")
    script = precious.parent / "clean.sh"
    script.write_text("true\n")
    newcomer.finishes("--name", "cleaned", "--", "sh", str(script))
    script.write_text(f"rm -rf {precious}\n")
    filled = [word.format(precious) if "{{" not in word else word for word in words]
    answer = newcomer.types(*filled, yes=False, code=0 if words[0] == "propose" else 4)

    (view,) = newcomer.types("ls", "--state", "proposed", "--json").objects
    assert view["id"] == answer.proposal
    newcomer.finishes("true")
    assert precious.exists()


@pytest.mark.spec("D1")
def test_propose_waits_even_if_the_command_is_harmless(person: Person) -> None:
    view = person.types("propose", "--json", "--description", "have a look", "--", "true").object
    answer = person.types("approve", "--wait", "-q", view["id"])

    assert view["state"] == "proposed"
    assert (answer.out, person.sees(view["id"])["state"]) == ("", "completed")
    assert "give either --json or --quiet" in person.types("propose", "-q", "--json", "true", code=2).err


@pytest.mark.spec("A8", "A12")
@pytest.mark.trap(8)
@pytest.mark.parametrize("disguise", ["", "env -u ERRANDS_RUN_ID ", "setsid -w env -i HOME=/ {environ} "])
def test_nothing_inside_a_run_can_consent(person: Person, precious: Path, disguise: str) -> None:
    waiting = person.types("run", "-q", f"rm -rf {precious}", yes=False, code=4).out.strip()
    environ = f"ERRANDS_HOME={person.home} PATH=$PATH"
    inner = disguise.format(environ=environ) + ERRANDS
    script = (
        f"{inner} run --yes 'rm -rf {precious}'; echo $?; {inner} approve {waiting}; echo $?; "
        f"{inner} reject {waiting}; echo $?; {inner} propose true; echo $?"
    )
    said = person.types("run", "--wait", "-q", script).out

    assert [line for line in said.splitlines() if line.isdigit()] == ["2", "2", "2", "0"]
    assert said.count("a process cannot consent; leave out --yes") == 1
    assert said.count("a process cannot consent; a person answers, at a terminal outside of it") == 2
    assert person.sees(waiting)["state"] == "proposed"
    assert precious.exists()
    person.types("reject", waiting)


@pytest.mark.spec("A8", "A12")
@pytest.mark.trap(8)
def test_the_terminal_of_a_run_does_not_count_as_a_person(person: Person, precious: Path) -> None:
    said = person.types("run", "--wait", "-q", "--pty", f"{ERRANDS} run 'touch {precious}/x'; echo $?").out

    assert "proposed touch-" in said
    assert said.rstrip().endswith("4")
    assert not (precious / "x").exists()


@pytest.mark.spec("A10")
@pytest.mark.trap(67)
def test_of_many_answers_at_once_exactly_one_counts(person: Person, precious: Path) -> None:
    waiting = person.types("run", "-q", f"rm -rf {precious}", yes=False, code=4).out.strip()
    verbs = ["approve", "reject"] * 3
    with ThreadPoolExecutor(len(verbs)) as pool:
        answers = list(pool.map(lambda verb: person.types(verb, waiting, code=None), verbs))

    assert sorted(answer.code for answer in answers) == [0, 4, 4, 4, 4, 4]
    assert all(" by ada, " in answer.err for answer in answers if answer.code)
    (winner,) = [verb for verb, answer in zip(verbs, answers, strict=True) if answer.code == 0]
    person.types("wait", waiting, code=None)
    assert precious.exists() is (winner == "reject")


@pytest.mark.spec("A10")
@pytest.mark.trap(69)
@pytest.mark.fault("F59")
def test_a_script_that_changed_since_then_needs_approval_again(person: Person, precious: Path) -> None:
    script = precious.parent / "deploy.sh"
    script.write_text("echo fine\n")
    waiting = person.types("run", "-q", "--", "sh", str(script), yes=False, code=4).out.strip()
    script.write_text(f"rm -rf {precious}\n")
    refused = person.types("approve", waiting, code=4)

    assert f"{script} has changed" in refused.err
    assert f"{script} has changed" in person.types("show", waiting).out
    assert person.sees(waiting)["state"] == "proposed"
    script.write_text("echo fine again\n")
    person.types("approve", waiting, code=4)
    assert person.types("approve", "--wait", "-q", waiting).out == "fine again\n"
    assert [each["state"] for each in person.types("audit", waiting, "--json").objects] == [
        "granted",
        "void",
        "void",
    ]


@pytest.mark.spec("A10")
@pytest.mark.trap(69)
@pytest.mark.fault("F59")
@pytest.mark.parametrize("verb", ["run --wait", "wait"])
def test_waiting_reports_a_script_that_changed_before_the_start(
    person: Person, precious: Path, verb: str
) -> None:
    script = precious.parent / "deploy.sh"
    script.write_text("echo fine\n")
    words = ["run", "--yes", "--at", "+1s", "--", "sh", str(script)]
    if verb == "wait":
        words = ["wait", person.types(*words, yes=False).out.split()[1].rstrip(":")]
    else:
        words.insert(1, "--wait")
    with subprocess.Popen(
        [*COMMAND, *words], env=person.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as waiter:
        if verb != "wait":
            assert waiter.stderr
            waiter.stderr.readline()
        script.write_text(f"rm -rf {precious}\n")
        said, _ = waiter.communicate(timeout=30)

    assert waiter.returncode == 4
    assert f"{script} has changed" in said.decode()
    assert precious.exists()


@pytest.mark.spec("A10")
def test_always_means_exactly_this_and_never_a_script(person: Person, tmp_path: Path) -> None:
    command = ["--cwd", str(tmp_path), "--", "touch", "../made"]
    first = person.types("run", "-q", *command, yes=False, code=4).out.strip()
    person.types("approve", "--always", "--wait", first)
    script = person.types("run", "-q", "--cwd", str(tmp_path), "--", "sh", "../x.sh", yes=False, code=4)

    assert person.types("run", "--wait", *command, yes=False).code == 0
    assert person.types("run", "-q", "--", "touch", f"{tmp_path}/other", yes=False, code=4).code == 4
    assert "without --always" in person.types("approve", "--always", script.out.strip(), code=2).err
    assert person.sees(script.out.strip())["state"] == "proposed"


@pytest.mark.spec("A9")
def test_an_approval_with_always_is_listed_and_withdrawn(newcomer: Person, precious: Path) -> None:
    assert "nothing is approved with --always" in newcomer.types("audit", "--always").out
    first = newcomer.types("run", "-q", f"rm -rf {precious}/x", yes=False, code=4).out.strip()
    newcomer.types("approve", "--always", "--wait", first)
    newcomer.types("run", "-q", "--wait", f"rm -rf {precious}/x", yes=False)
    listed = newcomer.types("audit", "--always")
    standing = newcomer.types("audit", "--always", "--json").object

    assert standing["command"] == f"rm -rf {precious}/x"
    assert standing["digest"][:12] in listed.out
    assert "ada" in listed.out
    assert newcomer.types("reject", "--always", "zz", code=3).err.startswith("errands: no standing approvals")
    assert "needs approval again: " in newcomer.types("reject", "--always", standing["digest"][:12]).out
    newcomer.types("run", "-q", f"rm -rf {precious}/x", yes=False, code=4)


@pytest.mark.spec("A6", "A14")
def test_an_agent_is_started_with_commands_that_it_may_run(newcomer: Person, precious: Path) -> None:
    agent = newcomer.types(
        "ask", "-q", "--agent", "offline", "--allow", f"rm -rf {precious}", f"`rm -rf {precious}`",
        yes=False, code=4,
    ).out.strip()  # fmt: skip
    assert f"lets the agent run `rm -rf {precious}` without asking" in newcomer.types("show", agent).out

    newcomer.types("approve", "--wait", agent)

    assert not precious.exists()
    assert "approved, for the task" in newcomer.types("audit", agent).out
    assert "withdrawn: 1 approval for the whole task" in newcomer.types("reject", "--task", agent).out
    assert "approved, for the task" not in newcomer.types("audit", agent).out
    assert "exclude each other" in newcomer.types("approve", "--task", "--always", agent, code=2).err
    wrong = newcomer.types("ask", "--allow", "bash *", "go on", yes=False, code=2)
    assert "`bash` runs any program" in wrong.err


@pytest.mark.spec("A12")
@pytest.mark.parametrize("missing", ["stdin", "stderr"])
def test_half_a_terminal_does_not_count_as_a_person(person: Person, precious: Path, missing: str) -> None:
    keyboard, terminal = os.openpty()
    done = subprocess.run(
        [*COMMAND, "run", "-q", f"touch {precious}/x"],
        env=person.environ,
        stdin=subprocess.DEVNULL if missing == "stdin" else terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if missing == "stderr" else terminal,
        check=False,
    )
    os.close(keyboard)
    os.close(terminal)

    assert done.returncode == 4
    assert not (precious / "x").exists()
    person.types("reject", done.stdout.decode().strip())
