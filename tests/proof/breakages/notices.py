"""Breakages of notification and channels (N)."""

from __future__ import annotations

from tests.proof.breakage import Breakage

BREAKAGES = [
    Breakage(
        "N1",
        "the first run of a recurring task does not count as a change",
        file="model/rollup.py",
        old="has_changed=cursor is None or reported != cursor.result",
        new="has_changed=cursor is None or cursor.result not in (None, reported)",
        test="model/test_rollup.py",
    ),
    Breakage(
        "N2",
        "only the first of several channels gets the notice",
        file="engine/notices/outbox.py",
        old="(inbox, *task.channels) if",
        new="(inbox, *task.channels[:1]) if",
        test="channels/test_sender.py",
    ),
    Breakage(
        "N3",
        "a message in a terminal does not name its task",
        file="channels/terminal.py",
        old="framed(delivery.name, [title(delivery), ",
        new='framed("errands", [',
        test="channels/test_terminal.py",
    ),
    Breakage(
        "N4",
        "a code fence that is split is not opened again",
        file="model/text/split.py",
        old="piece, size = ([opened], length(opened) + 1) if opened else ([], 0)",
        new="piece, size = [], 0",
        test="channels/test_split.py",
    ),
    Breakage(
        "N5",
        "a delivery that failed counts as delivered",
        file="engine/notices/notifier.py",
        old="            return self._defer(notices, str(error) or type(error).__name__)\n",
        new="            pass\n",
        test="channels/test_sender.py",
    ),
    Breakage(
        "N6",
        "what a command printed is not in the notice of its end",
        file="engine/notices/run_result.py",
        old='return {**facts, **output(str(facts["run"]))}',
        new="return facts",
        test="engine/notices/test_agent_report.py",
    ),
    Breakage(
        "N6",
        "the answer of an agent is not in the notice of its end",
        file="engine/daemon/outcome.py",
        old="more={} if answer is None else {",
        new="more={} if answer is None or True else {",
        test="engine/notices/test_agent_report.py",
    ),
    Breakage(
        "N7",
        "a task does not report where the conversation is in which it was made",
        file="engine/notices/addresses.py",
        old='here = environ.get("ERRANDS_CHANNEL", "")',
        new='here = ""',
        test="frontends/cli/test_channels.py",
    ),
    Breakage(
        "N8",
        "a caller that nothing can wake is told that it will be",
        file="dialects/completion.py",
        old='return caller.wake == "session" and caller.session is not None',
        new="return True",
        test="scenarios/test_dialect_contract.py",
    ),
    Breakage(
        "N9",
        "a digest leaves out all but the first reports",
        file="model/notices/delivery.py",
        old='lines = [cut(_digest_line(each), room, mark="…") for each in delivery.notices]',
        new='lines = [cut(_digest_line(each), room, mark="…") for each in delivery.notices[:10]]',
        test="model/notices/test_delivery.py",
    ),
    Breakage(
        "N9",
        "a report to an agent does not say that it carries no consent",
        file="engine/notices/agent_report.py",
        old="background task')}. {NO_CONSENT}]",
        new="background task')}.]",
        test="engine/notices/test_agent_report.py",
    ),
    Breakage(
        "N10",
        "a long answer is shown without saying where the rest is",
        file="model/notices/result.py",
        old="""f"[... the rest: {hints.show.replace('ID', task)}]\"""",
        new='"[...]"',
        test="engine/notices/test_run_result.py",
    ),
]
