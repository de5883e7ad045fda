"""The commands of the chat, most of them tested without a terminal, one line after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from errands.frontends.chat.commands import COMMANDS
from errands.frontends.cli.verbs import load
from tests.frontends.chat.window import INTERRUPT, WITHOUT_TOOLKIT, Window
from tests.frontends.cli.person import Person
from tests.walls import walled


def says(person: Person, *lines: str, chat: tuple[str, ...] = ()) -> str:
    """Chat without a terminal, with the offline agent; return all output."""
    return person.types("chat", "--agent", "offline", *chat, given="\n".join(lines)).out


@pytest.mark.spec("X6")
def test_help_names_every_command(person: Person) -> None:
    said = says(person, "/help")

    assert [each.name for each in COMMANDS if each.usage not in said or each.summary not in said] == []
    wanted = "/background /tasks /status /cancel /approve /reject /resume /logs /restart /schedule /help"
    verbs = "/run /ask /ls /show /propose /pause /unpause /fire /stop /send /clear /trace"
    assert [each for each in f"{wanted} {verbs}".split() if f"  {each} " not in said] == []


@pytest.mark.spec("X6")
def test_background_starts_a_task_of_this_chat(person: Person) -> None:
    said = says(person, "/background echo in the background")
    task = said.split()[1].rstrip(":")
    view = person.sees(task)

    assert said.startswith("started echo-")
    assert (view["command"], view["owner"]) == ("echo in the background", view["parent"])
    assert view["parent"].startswith("chat:")


@pytest.mark.spec("X6", "A12")
def test_background_asks_about_what_cannot_be_undone(window: Window, person: Person, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    for answer, word in (("n", "rejected"), ("", "rejected"), ("y", "approved")):
        window.types(f"/background rm -r {tmp_path}/precious\r")
        window.until(lambda: window.line == "Start it? y once, a always, n no [y/a/N]", "the question")
        assert (tmp_path / "precious").exists()
        window.types(f"{answer}\r")
        window.until(lambda: window.line == ">", "an empty line")
        window.shows(f"{word} rm-", times=2 if answer == "" else 1)
    window.until(lambda: not (tmp_path / "precious").exists(), "the end of it")
    window.types(f"/background rm -r {tmp_path}\r")
    window.until(lambda: window.line == "Start it? y once, a always, n no [y/a/N]", "the question")
    window.types(INTERRUPT)
    window.shows("rejected rm-", times=3)

    assert "because    │ deletes" in window.text
    assert tmp_path.exists()


@pytest.mark.spec("X6", "A11")
def test_without_a_terminal_background_only_proposes(person: Person, tmp_path: Path) -> None:
    said = says(person, f"/background touch {tmp_path}/made")

    assert "This needs your approval: y once, a always, n no, or later /approve touch-" in said
    assert "stays proposed" in said
    assert not (tmp_path / "made").exists()


@pytest.mark.spec("X6", "D2")
@pytest.mark.parametrize("slash", ["/", ""])
def test_approve_and_reject_answer_a_proposal(person: Person, tmp_path: Path, slash: str) -> None:
    wanted = person.types("propose", f"touch {tmp_path}/wanted").proposal
    unwanted = person.types("propose", f"touch {tmp_path}/unwanted").proposal
    said = says(person, f"{slash}approve {wanted}", f"{slash}reject {unwanted}")
    person.types("wait", wanted)

    assert f"approved {wanted}" in said
    assert f"rejected {unwanted}; it will not start" in said
    assert [each.name for each in tmp_path.iterdir()] == ["wanted"]
    assert person.sees(unwanted)["state"] == "rejected"


@pytest.mark.spec("X6", "A11")
def test_an_approval_without_a_terminal_counts_as_one_by_a_program(person: Person, tmp_path: Path) -> None:
    asked = person.types("propose", f"touch {tmp_path}/made").proposal
    words = ("chat", "--agent", "offline")
    refused = person.types(*words, given=f"/approve {asked}", ERRANDS_APPROVAL_YES="false").out
    assert "approval.yes is false; approve it at a terminal" in refused
    assert person.sees(asked)["state"] == "proposed"

    assert f"approved {asked}" in says(person, f"/approve {asked}")
    [entry] = [each for each in person.types("audit", "--json").objects if each["task"] == asked]
    assert (entry["by"], entry["door"]) == ("ada (--yes)", "chat")


@pytest.mark.spec("X6", "A2")
@walled
def test_approve_runs_what_failed_in_its_sandbox_again_without_it(person: Person, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "look.sh").write_text(f"cat {tmp_path}/outside\n")
    (tmp_path / "outside").write_text("seen")
    words = ("run", "--wait", "--json", "sh look.sh")
    task = person.types(*words, cwd=tmp_path / "project", yes=False, code=1).object["id"]
    said = says(person, f"/approve {task}")

    assert f"approved {task}; it runs again, without its sandbox" in said
    assert person.types("wait", "-q", task).code == 0


@pytest.mark.spec("X6", "A8")
def test_an_answer_at_a_terminal_is_recorded_as_given_in_a_chat(
    window: Window, person: Person, tmp_path: Path
) -> None:
    asked = person.types("propose", f"touch {tmp_path}/made").proposal
    window.enters(f"/approve {asked}")
    window.shows(f"approved {asked}")
    [entry] = [each for each in person.types("audit", "--json").objects if each["task"] == asked]

    assert (entry["by"], entry["door"]) == ("ada", "chat")


@pytest.mark.spec("X6")
def test_a_sentence_that_begins_with_approve_is_a_message_to_the_agent(person: Person) -> None:
    said = says(person, "approve of `true` please", "approve `true`", "reject nothing-222222")

    assert said.count("$ true") == 2
    assert "errands: unknown task 'nothing-222222'" in said


@pytest.mark.spec("X6")
def test_tasks_lists_tasks_and_those_of_a_state(person: Person) -> None:
    fine, wrong = person.finishes("--name", "fine", "true"), person.finishes("--name", "wrong", "false")
    every, failed = says(person, "/tasks"), says(person, "/tasks failed")

    assert fine in every
    assert wrong in every
    assert fine not in failed
    assert wrong in failed
    assert "errands: /tasks cannot list 'odd'; choose from" in says(person, "/tasks odd")


@pytest.mark.spec("X6")
def test_status_and_logs_show_a_task(person: Person) -> None:
    task = person.finishes("--name", "counting", "seq 1 60")
    shown, logs, two = (
        says(person, line) for line in (f"/status {task}", f"/logs {task}", f"/logs --tail 2 {task}")
    )

    assert f"{task}  ✓ completed" in shown
    assert "seq 1 60" in shown
    assert logs.splitlines() == [str(number) for number in range(21, 61)]
    assert two == "59\n60\n"
    assert f"full output: /logs {task}" in shown
    assert says(person, "/status").startswith("the newest task: ")


@pytest.mark.spec("X6")
def test_cancel_and_restart(person: Person) -> None:
    task = person.starts("--name", "sleeper", "sleep 600")
    person.waits_until(task, "state", "running")
    assert task in says(person, f"/cancel {task}")
    person.types("wait", task, code=None)
    assert person.sees(task)["state"] == "cancelled"
    assert f"started again: {task}" in says(person, f"/restart {task}")
    assert person.sees(task)["runs"] == 2
    person.types("cancel", task)


@pytest.mark.spec("X6")
def test_resume_continues_an_agent_task_in_the_background(person: Person) -> None:
    task = person.types("ask", "--agent", "offline", "-q", "--wait", "--name", "earlier", "`true`").out
    task = next(each["id"] for each in person.types("ls", "--json").objects if each["name"] == "earlier")
    said = says(person, f"/resume {task} run `echo once more`", f"/resume {task}")
    person.types("wait", task)

    assert f"{task} continues in the background" in said
    assert "errands: resume needs a PROMPT" in said
    assert person.sees(task)["resume_count"] == 1


@pytest.mark.spec("X6", "T1")
def test_schedule_starts_lists_and_shows_schedules(person: Person) -> None:
    said = says(person, "/schedule 2h echo at times", "/schedule '0 9 * * 1' echo on mondays", "/schedule")
    first, second = (line.split()[1].rstrip(",") for line in said.splitlines()[:2])

    assert [person.sees(each)["state"] for each in (first, second)] == ["active", "active"]
    assert said.count(first) >= 2
    assert f"{first} stays active" in said
    shown = says(person, f"/schedule {first}")
    assert "next runs" in shown
    assert "is not a duration" in says(person, "/schedule soon echo x")
    person.types("cancel", first, second)


@pytest.mark.spec("X6")
def test_an_unknown_command_is_refused_with_a_suggestion(person: Person) -> None:
    said = says(person, "/stauts x")
    assert said == "errands: unknown command /stauts (did you mean /status?); /help lists them\n"


@pytest.mark.spec("X6", "X22")
def test_verbs_go_by_their_other_names_and_are_named_as_they_are_typed_here(person: Person) -> None:
    said = says(person, "/add --name nap sleep 60", "/ps", "/kill nap")

    assert said.startswith("started nap-")
    assert "unknown command" not in said
    assert "  sleep 60\n" in said, "/ps lists it"
    assert "(to go back: /lane shell default)" in " ".join(says(person, "/lane shell 2").split())
    person.types("lane", "shell", "default")


def test_each_word_for_leaving_leaves(person: Person) -> None:
    for word in ("/quit", "/exit", "exit", "quit"):
        assert says(person, word, "/help") == ""


@pytest.mark.spec("X21")
def test_no_word_is_broken_at_the_edge_of_the_window(person: Person) -> None:
    window = Window(person)
    window.enters("/help")
    said = window.shows("Ctrl-D leaves.")
    window.close()

    explained = {
        word for name in ("ls", "show", "cancel", "restart", "audit") for word in load(name).summary.split()
    }
    assert explained - set(said.split()) == set()


@pytest.mark.spec("X6")
def test_a_missing_extra_is_reported_in_one_sentence(person: Person) -> None:
    window = Window(person, command=WITHOUT_TOOLKIT)
    said = " ".join(window.shows("[chat]").split())
    window.close()

    advice = "install it with: pip install '.[chat]' in a clone of Errands"
    assert said == f"errands: a chat in a terminal needs prompt_toolkit, which is not installed; {advice}"


def test_an_unknown_chat_is_not_found(person: Person) -> None:
    assert "unknown chat 'nobody'" in person.types("chat", "nobody", code=3).err
    assert "give either it or a chat, not both" in person.types("chat", "--continue", "nobody", code=2).err


def test_an_unknown_agent_is_refused_before_the_greeting(person: Person) -> None:
    refused = person.types("chat", "--agent", "nosuch", given="hello", code=2)

    assert refused.out == ""
    assert refused.err == person.types("ask", "--agent", "nosuch", "hello", code=2).err
    assert "unknown agent 'nosuch'" in refused.err


def test_a_conversation_keeps_its_agent(person: Person) -> None:
    says(person, "`true`")

    assert "a conversation with offline" in person.types("chat", "--continue", "--agent", "x", code=2).err
    assert "a conversation with offline" in person.types("chat", "--continue", "--model", "x", code=2).err


@pytest.mark.spec("X6", "L21")
def test_leaving_lists_what_continues_and_how_to_come_back(
    person: Person, open_window: Callable[..., Window]
) -> None:
    window = open_window()
    window.enters("/background sleep 600")
    window.shows("started sleep-")
    window.enters("SAY remember the milk")
    window.shows("remember the milk", times=2)
    said = window.leaves()
    name = next(word for word in said.split() if word.startswith("chat:"))
    task = said.partition("1 task continues: ")[2].split()[0]

    assert said.rstrip().endswith(f"come back: errands chat --continue, or errands chat {name}")
    assert person.sees(task)["parent"] == name
    person.types("cancel", task)
    person.waits_until_reported(task, owner=name)
    again = person.types("chat", name, given="RECALL").out
    assert f"background: {task} ─" in again
    assert "remember the milk" in again


@pytest.mark.spec("A5", "X6")
def test_keys_typed_before_a_question_do_not_answer_it(window: Window, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    window.types(f"/background rm -r {tmp_path}/precious\ry\r")
    window.until(lambda: window.line == "Start it? y once, a always, n no [y/a/N]", "the question")
    window.types("\r")
    window.shows("rejected rm-")

    assert (tmp_path / "precious").exists()


@pytest.mark.spec("A5", "X6")
def test_a_rejected_task_can_be_approved_by_a_person_alone(
    window: Window, person: Person, tmp_path: Path
) -> None:
    asked = person.types("propose", f"touch {tmp_path}/made").proposal
    window.types(f"/reject {asked}\r")
    window.shows(f"rejected {asked}; it will not start")

    assert "already rejected" in says(person, f"/approve {asked}")  # on a pipe
    window.types(f"/approve {asked}\r")
    window.shows(f"approved {asked}")

    window.until((tmp_path / "made").exists, "the end of it")
    assert f"command    │ touch {tmp_path}/made" in window.text
    assert person.waits_until(asked, "state", "completed")["approved_by"] == "ada"


@pytest.mark.spec("A8", "X6")
@pytest.mark.trap(8)
def test_a_chat_inside_a_run_cannot_approve(person: Person, tmp_path: Path) -> None:
    asked = person.types("propose", f"touch {tmp_path}/made").proposal
    command = f"printf 'approve {asked}\\n' | {sys.executable} -m errands chat --agent offline"
    said = person.types("run", "--wait", "-q", command, code=None).out

    assert "a process cannot consent" in said
    assert person.sees(asked)["state"] == "proposed"
    assert not (tmp_path / "made").exists()


@pytest.mark.spec("X6")
def test_slash_commands_take_the_options_of_the_command_line(person: Person) -> None:
    said = says(
        person,
        "/run --every 30m --name often echo 'one  two' | cat -A",
        "/run --name quoted 'echo it works'",
        "/run --name exact -- printf %s a;b",
        "/ask --agent offline --name asked what's new? run `echo nothing`",
        "/run --evry 30m true",
    )
    ids = {word.partition("-")[0]: word.rstrip(",:") for word in said.split() if "-" in word}
    views = {name: person.sees(ids[name]) for name in ("often", "quoted", "exact", "asked")}

    assert views["often"]["command"] == "echo 'one  two' | cat -A"
    assert views["often"]["schedule"]
    assert f"(/schedule {ids['often']})" in said
    assert views["quoted"]["command"] == "echo it works"
    assert person.types("wait", ids["exact"]).code == 0
    assert person.sees(ids["exact"])["output_tail"] == "a;b"
    assert views["asked"]["prompt"] == "what's new? run `echo nothing`"
    assert "errands: run has no option --evry (did you mean --every?)" in said
    assert len({view["parent"] for view in views.values()}) == 1
    person.types("cancel", ids["often"])


@pytest.mark.spec("X6")
def test_hints_name_what_can_be_typed_in_the_chat(person: Person) -> None:
    task = person.finishes("--name", "hinted", "echo errands show me")
    asked = person.types("propose", "echo errands ls").proposal
    said = says(person, "/ls", f"/show {asked}", f"/logs {task}", "/show nosuch-222222", "/run --wait true")

    assert f"/approve {asked}" in said
    assert "errands show me" in said  # what a task printed stays as it is
    assert "/ls --all lists every task" in said
    assert "errands: run does not take --wait: the end of a task is reported here" in said
    assert "errands approve" not in said
    for verb in ("wait", "chat", "notices", "agents setup"):
        assert f"/{verb} does not work in a chat; in a shell: errands {verb}" in says(person, f"/{verb} x")
    setup = says(person, "/agents setpu", "/ask")
    assert "did you mean setup?" in setup
    assert "ask needs PROMPT: what the agent should do or answer; see /ask --help" in setup
    person.types("reject", asked)


@pytest.mark.spec("X2", "X6")
def test_tasks_are_filtered_by_status_and_type_with_icons(person: Person) -> None:
    fine, wrong = (
        person.finishes("--name", "icon-fine", "true"),
        person.finishes("--name", "icon-bad", "false"),
    )
    live = person.starts("--name", "icon-live", "sleep 600")
    person.waits_until(live, "state", "running")
    agent = person.types("ask", "--agent", "offline", "-q", "--name", "icon-agent", "run `true`").out.strip()
    person.types("wait", agent)
    every = says(person, "/tasks").splitlines()

    assert (every[0], every[1]) == ("Background Tasks:", "─" * 70)
    icons = {each: [line[0] for line in every if f" {each} " in line] for each in (fine, wrong, live, agent)}
    assert icons == {fine: ["✓"], wrong: ["✗"], live: ["⏳"], agent: ["✓"]}
    order = [line.split()[1] for line in every if " icon-" in line]
    assert order[:4] == [agent, live, wrong, fine]
    assert len({line.index(" icon-", 3) for line in every if " icon-" in line}) == 1  # in one column
    for words, found in (
        ("running", {live}),
        ("error", {wrong}),
        ("failed", {wrong}),
        ("completed bash", {fine}),
        ("agent", {agent}),
        ("agent completed", {agent}),
        ("agent running", set()),
    ):
        said = says(person, f"/tasks {words}")
        assert {each for each in (fine, wrong, live, agent) if each in said} == found, words
    assert says(person, "/tasks remote") == "No background tasks.\n"
    person.types("cancel", live)
