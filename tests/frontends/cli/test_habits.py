"""The habits of queue tools: the newest task by default, several ids, aliases, options before the command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from errands.frontends.cli.help import EVERY_DAY, first_page
from errands.frontends.cli.other_tools import NOWHERE, OPTIONS, REFUSED, VERBS
from errands.frontends.cli.parser import Usage, parse
from errands.frontends.cli.verbs import ALIASES, NAMES, find, load
from errands.text import Look
from tests.frontends.cli.person import Person


@pytest.mark.spec("X21")
def test_options_end_at_the_first_word_of_the_command(person: Person) -> None:
    answer = person.types("run", "-q", "echo", "-n", "--wait", "x")
    task_id = answer.out.strip()

    assert answer.err == "--wait was passed on to echo; put options for errands before the command\n"
    assert person.types("wait", task_id).code == 0
    assert person.types("logs", task_id).out == "--wait x"
    assert person.sees(task_id)["command"] == "echo -n --wait x"


@pytest.mark.spec("X21")
@pytest.mark.parametrize(
    ("verb", "words", "command", "option"),
    [
        ("run", ["--name", "n", "ls", "-la"], ("ls", "-la"), "n"),
        ("run", ["ls -la", "--name", "n"], ("ls -la",), "n"),
        ("run", ["make|tail", "--name", "n"], ("make|tail",), "n"),
        ("run", ["--name", "n", "--", "ls", "--", "-la"], ("ls", "--", "-la"), "n"),
        ("run", ["ls", "--name", "n"], ("ls", "--name", "n"), None),
        ("propose", ["git", "push", "--force"], ("git", "push", "--force"), None),
        ("template save", ["t", "--name", "n", "make", "-j4"], ("make", "-j4"), "n"),
        ("edit", ["id-222222", "--name", "n", "make", "-j4"], ("make", "-j4"), "n"),
    ],
)
def test_what_belongs_to_the_command(
    verb: str, words: list[str], command: tuple[str, ...], option: str | None
) -> None:
    arguments = parse(load(verb), words)

    assert (arguments.command, arguments.name) == (command, option)


@pytest.mark.spec("X21")
def test_without_an_id_the_newest_task_that_fits_is_meant_and_named(newcomer: Person) -> None:
    assert newcomer.types("logs", code=3).err == (
        "errands: no task has started; give an id (errands ls --all lists every task)\n"
    )
    done = newcomer.finishes("echo done")
    live = newcomer.starts("echo live; sleep 1000")
    newcomer.waits_until(live, "state", "running")
    delayed = newcomer.starts("--at", "+1h", "true")

    shown, logged = newcomer.types("show"), newcomer.types("logs")
    assert shown.err.startswith(f"the newest task: {delayed}, pending, ")
    assert shown.out.startswith(f"{delayed}  ")
    assert logged.err.startswith(f"the newest task: {live}, running, ")
    assert newcomer.types("cancel").err.startswith(f"the newest task: {delayed}, ")
    waited = newcomer.types("wait", "--timeout", "0.1s", code=124)
    assert waited.err.startswith(f"the newest task: {live}, ")
    newcomer.types("cancel", live)
    assert "nothing" not in newcomer.types("cancel", code=3).out
    assert newcomer.types("wait", code=None).err.startswith(f"the newest task: {delayed}, cancelled")
    assert newcomer.types("logs", done).err == ""


@pytest.mark.spec("X21")
def test_a_wait_behind_a_short_command_means_that_and_nothing_older(newcomer: Person) -> None:
    delayed = newcomer.starts("--at", "+1h", "true")
    proposed = newcomer.types("run", "rm -r precious", yes=False, code=4).proposal
    short = newcomer.finishes("exit 7")

    assert newcomer.types("wait", code=7).err.startswith(f"the newest task: {short}, failed, created ")
    newcomer.types("reject", proposed)
    newcomer.types("cancel", delayed)


@pytest.mark.spec("X21")
@pytest.mark.parametrize("verb", ["cancel", "wait", "show", "logs"])
def test_an_empty_id_or_batch_is_not_the_newest_task(newcomer: Person, verb: str) -> None:
    task_id = newcomer.starts("--at", "+1h", "true")

    assert newcomer.types(verb, "", code=3).err.startswith("errands: unknown task ''")
    if verb in ("cancel", "wait"):
        newcomer.types(verb, "--batch", "", code=3)
    assert newcomer.sees(task_id)["state"] == "pending"


@pytest.mark.spec("X21")
def test_cancel_without_an_id_leaves_the_tasks_of_other_sessions_alone(newcomer: Person) -> None:
    other = newcomer.types("run", "-q", "sleep 1000", ERRANDS_SESSION="an-agent").out.strip()

    assert newcomer.types("cancel", code=3).err.startswith("errands: no task to cancel")
    assert newcomer.types("show").err.startswith(f"the newest task: {other}, ")
    newcomer.types("cancel", other)


@pytest.mark.spec("X21", "L4")
def test_an_ambiguous_beginning_is_read_as_the_newest_and_never_changes_anything(newcomer: Person) -> None:
    first, second = (
        newcomer.finishes("--name", "twin", "echo 1"),
        newcomer.finishes("--name", "twin", "echo 2"),
    )
    shown = newcomer.types("logs", "twin")

    assert shown.out == "2\n"
    assert shown.err == f"'twin' means {second}, completed; it matches 1 other\n"
    assert newcomer.types("show", "twin").out.startswith(second)
    refused = newcomer.types("clear", "twin", code=3)
    assert first in refused.err
    assert "matches several tasks" in refused.err


@pytest.mark.spec("X21")
def test_several_tasks_are_answered_restarted_and_read_at_once(newcomer: Person, tmp_path: Path) -> None:
    proposed = [newcomer.types("propose", "-q", f"echo {n}").out.strip() for n in range(4)]
    newcomer.types("approve", *proposed[:2])
    mixed = newcomer.types("reject", proposed[2], "unknown-222222", proposed[3], code=3)
    assert mixed.out.count("it will not start") == 2
    assert "unknown task" in mixed.err
    newcomer.types("wait", *proposed[:2])

    both = newcomer.types("logs", *proposed[:2]).out
    assert both == f"==> {proposed[0]} <==\n0\n\n==> {proposed[1]} <==\n1\n"
    assert "only one" in newcomer.types("logs", "-f", *proposed[:2], code=2).err
    assert newcomer.types("restart", *proposed[:2]).out.count("started ") == 2
    newcomer.types("wait", *proposed[:2])
    assert [newcomer.sees(each)["runs"] for each in proposed[:2]] == [2, 2]


@pytest.mark.spec("X21")
def test_what_failed_is_restarted_or_cleared_together(newcomer: Person, tmp_path: Path) -> None:
    flag = tmp_path / "works"
    failing = [
        newcomer.types("run", "-q", "--batch", name, f"test -e {flag}").out.strip()
        for name in ("a", "a", "b")
    ]
    newcomer.types("wait", *failing, code=1)
    fine = newcomer.finishes("--batch", "a", "true")
    flag.touch()
    newcomer.types("restart", "--failed", "--batch", "a")
    newcomer.types("wait", *failing[:2])

    assert [newcomer.sees(each)["runs"] for each in (*failing, fine)] == [2, 2, 1, 1]
    assert newcomer.types("clear", "--failed").out == "cleared 1 task\n"
    newcomer.types("run", "--wait", "--lane", "chat", f"test ! -e {flag}", code=1)  # as a message of a chat
    assert newcomer.types("restart", "--failed", code=3).err.startswith("errands: no task has failed")
    assert newcomer.types("restart", code=2).err.startswith("errands: give the ids")


@pytest.mark.spec("X21")
def test_wait_any_returns_with_the_first_that_ends(person: Person) -> None:
    slow, quick = person.starts("--stdin", "read line"), person.starts("--stdin", "read line; exit 7")
    person.waits_until(quick, "state", "running")
    person.types("send", quick, "go")
    answer = person.types("wait", "--any", slow, quick, code=7)

    assert quick in answer.out
    assert slow not in answer.out
    assert person.types("wait", "--any", "--timeout", "0.1s", slow, code=124).out.startswith(slow)
    person.types("cancel", slow)


@pytest.mark.spec("X21")
def test_aliases_are_verbs(person: Person) -> None:
    task_id = person.types("add", "--yes", "-q", "seq 30").out.strip()
    person.types("wait", task_id)

    assert task_id in person.types("ps").out
    assert task_id in person.types("status").out
    assert person.types("status", task_id).out.startswith(task_id)
    assert person.types("tail", task_id).out.split() == [str(n) for n in range(21, 31)]
    assert person.types("tail", "-n", "1", task_id).out == "30\n"
    assert person.types("tail", "-2", task_id).out == "29\n30\n"
    assert len(person.types("follow", task_id).out.split()) == 30
    assert "already cancelled" not in person.types("kill", task_id, code=1).out
    assert person.types("rm", task_id).out == "cleared 1 task\n"
    assert find(["prune"]) == find(["clean"]) == ("clear", ["--all"])
    assert person.types("version").out == person.types("--version").out


@pytest.mark.spec("X21")
def test_a_number_with_a_dash_is_how_many_to_show(person: Person) -> None:
    task_id = person.finishes("seq 30")

    assert person.types("logs", "-3", task_id).out.split() == ["28", "29", "30"]
    assert len(person.types("ls", "-1", "--json").objects) == 1


def test_every_word_that_is_meant_leads_to_a_verb_with_these_options() -> None:
    for words in (*ALIASES.values(), *(tuple(each.split()) for each in VERBS.values())):
        name, rest = find(list(words))
        flags = {flag for option in load(name).options for flag in option.flags}
        assert {word for word in rest if word.startswith("-")} <= flags
    assert not {*ALIASES, *VERBS} & set(NAMES)
    assert not set(ALIASES) & set(VERBS)


@pytest.mark.spec("X21")
def test_a_wrong_word_is_answered_by_its_meaning() -> None:
    with pytest.raises(Usage, match="use errands ls: list tasks"):
        find(["queue"])
    with pytest.raises(Usage, match="errands run starts a command"):
        find(["start"])
    with pytest.raises(Usage, match="did you mean cancel"):
        find(["cancle"])


@pytest.mark.spec("X21", "L15")
def test_a_template_names_its_task_and_does_not_take_a_task_for_a_command(person: Person) -> None:
    person.types("template", "save", "deploy", "echo deployed")
    task_id = person.types("template", "run", "-q", "deploy").out.strip()

    assert task_id.startswith("deploy-")
    assert person.sees(task_id)["name"] == "deploy"
    assert person.types("template", "run", "-q", "--name", "other", "deploy").out.startswith("other-")
    refused = person.types("template", "save", "again", task_id, code=2).err
    assert (
        f"{task_id} is a task. To save what it runs: errands template save again 'echo deployed'" in refused
    )
    assert refused == person.types("template", "save", task_id, "again", code=2).err.replace(
        f"save {task_id} -- again", f"save again -- {task_id}"
    )
    assert "deploy is a task. " in person.types("template", "save", "again", "deploy", code=2).err
    person.finishes("--name", "true", "true")
    assert person.types("template", "save", "again", "true").code == 0  # a program, whatever tasks are called
    assert person.types("template", "save", "again", "--", task_id).code == 0
    assert person.types("template", "save", "again", "echo ${HOME} {{where}}").err == ""
    assert person.types("template", "save", "again", "echo {where}").err == (
        "{where} is passed on as it is; a parameter is written {{where}}\n"
    )


@pytest.mark.spec("X21", "L28")
def test_without_an_id_queue_verbs_mean_the_newest_task_that_fits(newcomer: Person) -> None:
    running = newcomer.starts("--name", "shop", "sleep 1000")
    newcomer.waits_until(running, "state", "running")
    held = newcomer.starts("--name", "shop", "--hold", "true")
    later = newcomer.starts("--name", "shop", "--at", "+1h", "true")
    foreign = newcomer.types("run", "-q", "sleep 1000", ERRANDS_SESSION="an-agent").out.strip()
    newcomer.waits_until(foreign, "state", "running")

    paused = newcomer.types("pause")
    assert paused.err.startswith(f"the newest task: {running}, running, ")
    assert paused.out.startswith(f"paused {running}: ")
    assert newcomer.types("pause", code=3).err.startswith("errands: you have no running task")
    assert newcomer.types("hold").out.startswith(f"held {later}  ")
    newcomer.types("release", later)

    # Three ids begin alike; only one of them fits each verb.
    released = newcomer.types("release", "shop")
    assert released.err == f"'shop' means {held}, the only one that is held\n"
    newcomer.types("wait", held)
    assert newcomer.types("edit", "shop", "--name", "store").out.startswith(f"edited {later}")
    assert newcomer.types("unpause").out.startswith(f"continued {running}  ")
    assert newcomer.types("release", code=3).err.startswith("errands: you have no held task")
    newcomer.types("cancel", running, later, foreign)


@pytest.mark.spec("X21", "L4")
def test_several_tasks_that_fit_are_listed_and_none_is_changed(newcomer: Person) -> None:
    held = [newcomer.starts("--name", "twin", "--hold", "true") for _ in range(2)]
    running = newcomer.starts("--name", "twin", "sleep 1000")
    newcomer.waits_until(running, "state", "running")
    refused = newcomer.types("release", "twin", code=3).err

    assert all(each in refused for each in held)
    assert running not in refused
    assert {newcomer.sees(each)["state"] for each in held} == {"pending"}
    newcomer.types("cancel", *held, running)


@pytest.mark.spec("X21")
def test_wait_without_an_id_prefers_what_runs(newcomer: Person) -> None:
    running = newcomer.starts("sleep 1000")
    newcomer.waits_until(running, "state", "running")
    held = newcomer.starts("--hold", "true")

    assert newcomer.types("wait", "--timeout", "1ms", code=124).err.startswith(
        f"the newest task: {running}, "
    )
    newcomer.types("cancel", running)
    assert newcomer.types("wait", "--timeout", "1ms", code=124).err.startswith(
        f"the newest task: {held}, held"
    )
    newcomer.types("cancel", held)


@pytest.mark.spec("X21")
@pytest.mark.parametrize(("flag", "meant"), OPTIONS.items())
def test_an_option_of_another_tool_is_answered_by_its_meaning(flag: str, meant: str) -> None:
    ours = meant.partition(" ")[0]
    verbs = [verb for verb in map(load, NAMES) if ours in {each for o in verb.options for each in o.flags}]
    known = [
        {*verb.refused, *REFUSED.get(verb.name, ()), *(each for o in verb.options for each in o.flags)}
        for verb in verbs
    ]
    unknown = [verb for verb, flags in zip(verbs, known, strict=True) if flag not in flags]

    assert unknown, "no verb has that option"
    with pytest.raises(Usage, match=f"has no option {flag}; use {re.escape(meant)}"):
        parse(unknown[0], [flag])


@pytest.mark.spec("X21")
@pytest.mark.parametrize("name", REFUSED)
def test_what_a_verb_does_not_take_is_answered_with_the_reason(name: str) -> None:
    flags = {each for option in load(name).options for each in option.flags}

    assert not flags & {*REFUSED[name], *NOWHERE}
    for flag, reason in {**NOWHERE, **REFUSED[name]}.items():
        with pytest.raises(Usage, match=re.escape(reason)):
            parse(load(name), [flag or "word", "word"])


@pytest.mark.spec("X21")
@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("ls failed", "ls does not take 'failed'; use --state failed"),
        ("edit x --after y", "edit does not take --after: this cannot change; cancel the task"),
        ("ls make-7k2m4x", "ls does not take 'make-7k2m4x'; errands show ID shows one task"),
        ("kill -9 make", "cancel does not take -9: it sends SIGTERM, then SIGKILL"),
        ("rm -f make", "clear does not take -f: errands cancel ID ends a task first"),
        ("run -p high make", "run does not take -p: -q prints only the id, and --priority high"),
        ("run --nightly make", "run has no option --nightly; use --cron @daily"),
        ("remove make", "errands cancel ID ends a task, and errands clear ID removes"),
        ("man", "man errands opens the manual"),
        ("daemon logs", "errands daemon status names the home, where daemon.log is the log"),
        ("channel add x", "write a section [channels.NAME] in your configuration"),
        ("logs --since 5m", "logs does not take --since: -n 20 starts with the last 20 lines"),
        ("web --open", "web does not take --open: it opens the page"),
        ("priority make high", "errands edit ID --priority high changes it"),
        ("-v", "unknown option -v; errands doctor finds what is wrong"),
        ("--color never ls", "unknown option --color; set NO_COLOR=1"),
    ],
)
def test_what_other_tools_take_is_answered_with_what_does_it_here(line: str, answer: str) -> None:
    def reads() -> None:
        name, rest = find(line.split())
        parse(load(name), rest)

    with pytest.raises(Usage, match=re.escape(answer)):
        reads()


@pytest.mark.spec("X21")
def test_every_lane_that_was_set_is_named_when_one_is_unknown(newcomer: Person) -> None:
    newcomer.types("lane", "gpu", "2")

    refused = newcomer.types("run", "--lane", "gpuu", "true", code=2).err
    assert "unknown lane 'gpuu' (did you mean gpu?)" in refused
    assert "gpu (2)" in refused


@pytest.mark.spec("X21", "N9")
def test_a_channel_that_cannot_deliver_is_named_at_once(newcomer: Person) -> None:
    answer = newcomer.types("run", "--channel", "desktop", "true", PATH="/nowhere")

    assert answer.err.startswith("channel desktop cannot deliver now: ")


@pytest.mark.spec("X21")
def test_resume_without_a_prompt_says_which_verb_continues_or_repeats_a_command(newcomer: Person) -> None:
    done, held = newcomer.finishes("true"), newcomer.starts("--hold", "true")

    assert f"errands restart {done} runs it again" in newcomer.types("resume", done, code=2).err
    assert f"errands unpause {held} continues it" in newcomer.types("resume", held, code=2).err
    newcomer.types("cancel", held)


@pytest.mark.spec("X21")
def test_errands_alone_fits_a_small_terminal_and_names_only_what_works() -> None:
    text = first_page(Look(columns=80))

    assert len(text.splitlines()) < 24
    for command, _ in EVERY_DAY:
        verbs = command.split(", ") if ", " in command else [command.split()[0]]
        assert set(verbs) <= set(NAMES)
