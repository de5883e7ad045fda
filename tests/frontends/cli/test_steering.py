"""cancel, stop, restart, send, clear, templates and notices: steering tasks from the command line."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal, ended


@pytest.mark.spec("L9", "L21")
@pytest.mark.trap(40)
def test_cancel_returns_when_the_task_is_gone_and_says_so(person: Person, tmp_path: Path) -> None:
    task_id = person.starts(
        "--grace", "0.5s", f"trap 'echo bye' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.05; done"
    )
    person.waits_until(task_id, "state", "running")
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        pass
    answer = person.types("cancel", task_id)

    assert answer.out.startswith(f"{task_id}  ⊘ cancelled in ")
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    assert person.types("wait", task_id, code=None).code != 0


@pytest.mark.spec("L9")
def test_cancelling_twice_is_harmless(person: Person) -> None:
    task_id = person.starts("--stdin", "read line")
    person.types("cancel", task_id)

    assert person.types("cancel", task_id).out == f"{task_id} is already cancelled\n"


@pytest.mark.spec("L9")
def test_a_task_that_has_ended_cannot_be_cancelled_and_says_how_it_ended(person: Person) -> None:
    task_id = person.finishes("true")
    answer = person.types("cancel", task_id, code=1)

    assert answer.err == f"errands: {task_id} is completed; there is nothing to stop\n"
    assert person.sees(task_id)["state"] == "completed"


@pytest.mark.spec("L9")
@pytest.mark.trap(19)
def test_a_task_that_has_not_started_is_cancelled_and_never_does(person: Person, tmp_path: Path) -> None:
    task_id = person.starts("--at", "+1h", f"touch {tmp_path}/started")
    answer = person.types("cancel", "--json", task_id)

    assert answer.object["state"] == "cancelled"
    assert not (tmp_path / "started").exists()


@pytest.mark.spec("L9", "X21")
def test_everything_of_yours_is_awaited_or_cancelled_at_once_but_no_schedule(newcomer: Person) -> None:
    assert newcomer.types("wait", "--all").err == "no task of yours runs or waits\n"
    theirs = newcomer.types("run", "-q", "sleep 1000", ERRANDS_SESSION="claude:1").out.strip()
    schedule = newcomer.starts("--every", "1h", "true")
    failing = newcomer.starts("--stdin", "read line; exit 3")
    second = newcomer.starts("--after", failing, "true")
    waiting = newcomer.types("wait", "--all", "--timeout", "0.1s", "--json", code=124)
    assert [each["id"] for each in waiting.objects] == [failing, second]

    gone = newcomer.types("cancel", "--all", "--json").objects
    assert {each["state"] for each in gone} == {"cancelled"}
    assert [each["id"] for each in gone] == [each["id"] for each in waiting.objects]
    assert newcomer.sees(theirs)["state"] == "running"
    assert newcomer.sees(schedule)["state"] == "active"
    assert "recurring tasks are cancelled by id" in newcomer.types("cancel", "--all").err
    assert "give either --all, or ids" in newcomer.types("cancel", "--all", second, code=2).err
    assert "give either --all, or ids" in newcomer.types("wait", "--all", "--batch", "x", code=2).err
    newcomer.types("cancel", theirs)


@pytest.mark.spec("L9", "L4")
def test_a_beginning_of_several_lists_only_those_that_can_be_cancelled(newcomer: Person) -> None:
    newcomer.finishes("--name", "build", "true")
    one, two = (newcomer.starts("--name", "build", "--stdin", "read line") for _ in range(2))
    for verb in ("cancel", "stop"):
        refused = newcomer.types(verb, "build", code=3).err.splitlines()
        assert [line.split()[0] for line in refused[1:-1]] == [two, one]
        assert refused[-1].endswith(f"the full id of the newest is {two}")
    newcomer.types("cancel", one)
    assert newcomer.types("stop", "build").out.startswith(f"{two}  ⊘ cancelled")


@pytest.mark.spec("L13")
def test_a_whole_batch_is_cancelled_and_cleared(person: Person) -> None:
    done = person.finishes("--batch", "many", "true")
    live = [person.starts("--batch", "many", "--stdin", "read line") for _ in range(3)]
    other = person.starts("--batch", "few", "--stdin", "read line")
    refused = person.types("clear", "--batch", "many", code=1)
    answer = person.types("cancel", "--batch", "many")

    assert all(each in refused.err for each in live)
    assert {line.split()[0] for line in answer.out.splitlines()} == set(live)
    assert person.sees(done)["state"] == "completed"
    assert person.types("clear", "--batch", "many").out == "cleared 4 tasks\n"
    assert person.types("ls", "--batch", "many", "--json").out == ""
    assert person.sees(other)["state"] in ("pending", "running")
    person.types("cancel", other)


def test_cancel_can_leave_without_waiting(person: Person) -> None:
    task_id = person.starts("--grace", "1s", "trap '' TERM; while :; do sleep 0.05; done")
    person.waits_until(task_id, "state", "running")
    answer = person.types("cancel", "--no-wait", task_id)

    assert "◐ cancelling" in answer.out or "⊘ cancelled" in answer.out
    assert "cancelling" in person.types("ls").out or person.sees(task_id)["state"] == "cancelled"


@pytest.mark.spec("L9")
def test_stop_ends_the_current_run(person: Person) -> None:
    task_id = person.starts("--stdin", "read line")
    person.waits_until(task_id, "state", "running")

    assert person.types("stop", task_id).out.startswith(task_id)
    assert person.sees(task_id)["run_state"] == "cancelled"


@pytest.mark.spec("L12")
def test_restart_runs_the_same_command_again_as_a_new_run(person: Person, tmp_path: Path) -> None:
    task_id = person.finishes(
        "--cwd", str(tmp_path), "--env", "WHO=me", "echo $WHO >> seen; test $(wc -l < seen) = 2"
    )
    answer = person.types("restart", task_id)

    assert answer.out.startswith(f"started {task_id}  (")
    assert person.types("wait", task_id).code == 0
    assert (tmp_path / "seen").read_text() == "me\nme\n"
    assert person.sees(task_id)["runs"] == 2


@pytest.mark.spec("L12")
def test_a_live_task_cannot_be_restarted(person: Person) -> None:
    task_id = person.starts("--stdin", "read line")

    assert "cancel it first" in person.types("restart", task_id, code=1).err
    person.types("cancel", task_id)


@pytest.mark.spec("L24")
def test_input_is_sent_as_lines_as_it_is_or_from_standard_input(person: Person) -> None:
    task_id = person.starts("--stdin", "cat")
    person.waits_until(task_id, "state", "running")
    person.types("send", task_id, "a line")
    person.types("send", task_id, "--no-newline", "no ")
    person.types("send", task_id, given="end\n")
    person.types("send", task_id, "-", given="of pipe\n")
    person.types("send", task_id, "--eof", "last")

    assert person.types("wait", task_id).code == 0
    assert person.types("logs", task_id).out == "a line\nno end\nof pipe\nlast\n"


@pytest.mark.spec("L24")
def test_what_was_typed_before_an_interrupt_is_not_sent_and_says_so(person: Person) -> None:
    task_id = person.starts("--stdin", "cat")
    person.waits_until(task_id, "state", "running")
    terminal = Terminal(person)
    try:
        child = terminal.types("send", task_id)
        child.expect("Ctrl-D")
        child.sendline("half of it")
        child.sendintr()
        said, code = ended(child)
    finally:
        terminal.close()

    assert (said.splitlines()[-1], code) == ("nothing was sent", 130)
    person.types("send", task_id, "--eof", "all")
    person.types("wait", task_id)
    assert person.types("logs", task_id).out == "all\n"


@pytest.mark.spec("L24")
@pytest.mark.trap(25)
def test_a_task_without_input_reads_nothing_and_refuses_what_is_sent(person: Person) -> None:
    assert person.types("run", "-w", "-q", "cat; echo done").out == "done\n"
    task_id = person.starts("sleep 300")
    person.waits_until(task_id, "state", "running")

    assert "input" in person.types("send", task_id, "hello", code=1).err
    person.types("cancel", task_id)


@pytest.mark.spec("L24")
def test_a_person_is_not_asked_to_type_for_a_task_that_takes_nothing(person: Person) -> None:
    deaf = person.starts("sleep 300")
    person.waits_until(deaf, "state", "running")
    terminal = Terminal(person)
    try:
        for task, why in (("nope", "unknown task 'nope'"), (deaf, "started without input")):
            said, code = ended(terminal.types("send", task))
            assert code in (1, 3)
            assert why in said
            assert "Ctrl-D" not in said
    finally:
        terminal.close()
    person.types("cancel", deaf)


@pytest.mark.spec("O14")
def test_clear_removes_what_has_ended_with_all_it_left(person: Person) -> None:
    task_id = person.finishes("echo something")
    log = Path(person.sees(task_id)["output_file"])
    assert log.exists()

    assert person.types("clear", task_id).out == "cleared 1 task\n"
    assert not log.parent.exists()
    person.types("show", task_id, code=3)


@pytest.mark.spec("O14")
def test_clearing_by_state_age_and_owner_leaves_the_rest(newcomer: Person) -> None:
    good = newcomer.finishes("true")
    bad = newcomer.finishes("false")
    theirs = newcomer.types("run", "-q", "true", ERRANDS_SESSION="chat-1").out.strip()
    newcomer.types("wait", theirs)
    live = newcomer.starts("--stdin", "read line")

    assert newcomer.types("clear", "--all", "--older", "1h").out == "cleared 0 tasks\n"
    refused = newcomer.types("clear", "--older", "1", code=2)
    assert refused.err == "errands: --older: 1 has no unit; write 1s, 1h or 1d\n"
    assert newcomer.types("clear", "--state", "failed", "--json").object == {"id": bad, "cleared": True}
    assert newcomer.types("clear", "--owner", "chat-1", "--json").object["id"] == theirs
    assert newcomer.types("clear", "--all", "--json").object["id"] == good
    assert [view["id"] for view in newcomer.types("ls", "--json").objects] == [live]
    both = newcomer.types("clear", "--all", live, code=2).err
    assert "give either ids, or --all, --failed, --state, --owner or --older" in both


@pytest.mark.spec("L15")
def test_a_template_is_saved_shown_started_and_removed(person: Person, tmp_path: Path) -> None:
    saved = person.types(
        *("template", "save", "greet", "--description", "greet {{who}}", "--batch", "greetings"),
        "echo hello {{who}} {{mark=!}}",
        cwd=tmp_path,
    )
    answer = person.types("template", "run", "greet", "who=a b; echo evil", "--wait", "-q")

    assert saved.out.startswith("saved greet, which takes who, mark")
    assert answer.out == "hello a b; echo evil !\n"
    assert "greet     who, mark=!  echo hello" in person.types("template", "ls").out
    shown = person.types("template", "show", "greet", "--json").object
    assert shown["parameters"] == {"who": None, "mark": "!"}
    assert shown["cwd"] == str(tmp_path)
    view = person.types("ls", "--batch", "greetings", "--json").object
    assert (view["template"], view["description"]) == ("greet", "greet a b; echo evil")
    assert "hello" in person.types("template", "show", "greet").out
    again = person.types("template", "save", "greet", "echo")
    assert again.out.startswith("replaced greet, which takes no parameters")
    person.types("template", "rm", "greet")
    assert "greet" in person.types("template", "run", "greet", "who=x", code=3).err


@pytest.mark.spec("L15")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "typed"], "needs a value for: what"),
        (["run", "typed", "what=1", "when=2"], "no parameter 'when'"),
        (["run", "typed", "what"], "write NAME=VALUE"),
        (["save", "Two Words", "true"], "two-words"),
        (["save", "x", "-l", "ls"], "put -- before the command"),
        (["save", "x"], "template save needs COMMAND"),
        (["sav", "x"], "did you mean save?"),
    ],
)
def test_a_template_that_cannot_be_used_says_why(person: Person, words: list[str], complaint: str) -> None:
    person.types("template", "save", "typed", "--", "echo", "{{what}}")

    assert complaint in person.types("template", *words, code=2).err


@pytest.mark.spec("N5")
@pytest.mark.trap(3, 4)
def test_an_end_is_reported_once_and_show_does_not_count(newcomer: Person) -> None:
    task_id = newcomer.finishes("--description", "the nightly build", "exit 2")
    newcomer.types("logs", task_id)
    newcomer.sees(task_id)
    newcomer.waits_until_reported(task_id)
    peeked = newcomer.types("notices", "--peek", "--json").object
    told = newcomer.types("notices").out
    again = newcomer.types("notices").out

    assert peeked["run_id"] == f"{task_id}.1"
    assert peeked["state"] == "unread"
    assert told.startswith(f"{task_id}  ✗ failed  in ")
    assert again == "nothing new since you last looked\n"
    assert newcomer.types("notices", "--undelivered").out == "every notice was delivered\n"


@pytest.mark.spec("N5", "S7")
def test_an_end_that_wait_has_shown_is_not_a_notice(newcomer: Person) -> None:
    newcomer.types("run", "--wait", "echo a")
    newcomer.types("run", "--wait", "--json", "exit 3", code=3)
    newcomer.types("wait", newcomer.starts("true"))
    newcomer.types("wait", newcomer.types("ask", "-q", "`echo b`").out.strip())
    newcomer.types("ask", "--wait", "`echo c`")
    theirs = newcomer.starts("true")
    newcomer.types("wait", theirs, ERRANDS_SESSION="chat-2")
    unseen = newcomer.finishes("true")

    told = [notice["body"]["task"] for notice in newcomer.types("notices", "--json").objects]
    assert told == [theirs, unseen]


@pytest.mark.spec("N7")
@pytest.mark.trap(5)
def test_each_session_gets_only_its_own_notices(newcomer: Person) -> None:
    mine = newcomer.finishes("true")
    theirs = newcomer.types("run", "-q", "true", ERRANDS_SESSION="chat-2").out.strip()
    newcomer.types("wait", theirs)
    newcomer.waits_until_reported(mine)
    newcomer.waits_until_reported(theirs, owner="chat-2")

    assert [notice["body"]["task"] for notice in newcomer.types("notices", "--json").objects] == [mine]
    other = newcomer.types("notices", "--json", ERRANDS_SESSION="chat-2")
    assert [notice["body"]["task"] for notice in other.objects] == [theirs]


@pytest.mark.spec("L21")
def test_many_people_can_work_at_once(person: Person) -> None:
    ids: list[str] = []

    def work() -> None:
        for _ in range(3):
            ids.append(person.finishes("true"))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()

    assert len(set(ids)) == 12
    assert {person.sees(each)["state"] for each in ids} == {"completed"}


@pytest.mark.spec("L24")
def test_an_attached_task_gets_standard_input(person: Person) -> None:
    rows = "".join(f"{number}\n" for number in range(50_000))

    assert person.types("run", "-w", "--stdin", "cat", given=rows).out == rows
    assert person.types("run", "-w", "--stdin", "head -n 1", given=rows).out == "0\n"
    assert person.types("run", "-w", "--pty", "cat", given="a\n").out.splitlines()[-1] == "a"


def test_standard_input_that_is_not_passed_on_is_reported(person: Person) -> None:
    assert "give --stdin for that" in person.types("run", "-w", "wc -l", given="a\n").err
    assert "--stdin" not in person.types("run", "-w", "wc -l").err


def test_an_address_that_is_no_fleet_is_named_without_its_password(person: Person) -> None:
    assert person.types("host", "join", "db", code=2).err.endswith("(got 'db')\n")
    assert "(got 'mysql:'...)" in person.types("host", "join", "mysql://ada:secret@db/x", code=2).err
