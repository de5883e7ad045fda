"""Breakages of the chat (X6, X16 and what its reports and answers prove)."""

from __future__ import annotations

from tests.proof.breakage import Breakage

_LOOP = "frontends/chat/test_background.py"

BREAKAGES = [
    Breakage(
        "X16",
        "the agent of a chat has no background tools",
        file="bootstrap.py",
        old="offer=ConversationTools)",
        new="offer=None)",
        test=f"{_LOOP}::test_the_agent_starts_slow_work_goes_on_is_told_and_quotes_the_result",
    ),
    Breakage(
        "X16",
        "the agent of a chat is not asked to offer the background",
        file="agents/builtin/backend.py",
        old='return f"{system}\\n\\n{INSTRUCTIONS}" if context.background is not None else system',
        new="return system",
        test=f"{_LOOP}::test_the_agent_starts_slow_work_goes_on_is_told_and_quotes_the_result",
    ),
    Breakage(
        "X16",
        "the agent of a chat does not go on by itself when its work ends",
        file="frontends/chat/chat_session.py",
        old="elif self._may_continue():",
        new="elif False:",
        test=f"{_LOOP}::test_the_agent_goes_on_by_itself_when_what_it_started_ends_and_nobody_types",
    ),
    Breakage(
        "N6",
        "the agent of a chat is not told what ended",
        file="engine/notices/chat_notices.py",
        old="await agent.post(session, report, context)",
        new="pass",
        test=f"{_LOOP}::test_the_agent_starts_slow_work_goes_on_is_told_and_quotes_the_result",
    ),
    Breakage(
        "N10",
        "a report in a chat does not have the result",
        file="engine/notices/run_result.py",
        old="        if not delivery.is_digest:\n",
        new="        if False:\n",
        test=f"{_LOOP}::test_the_agent_starts_slow_work_goes_on_is_told_and_quotes_the_result",
    ),
    Breakage(
        "S17",
        "the agent of a chat cannot fork its conversation",
        file="engine/agents/agent_context.py",
        old="conversation=self._task.id,",
        new="conversation=None,",
        test=f"{_LOOP}::test_the_agent_forks_its_own_conversation_and_resumes_the_copy",
    ),
    Breakage(
        "X6",
        "y and n do not answer the question that the input line names",
        file="frontends/chat/chat_session.py",
        old="if about is not None and (answer := self.questions.typed(line, about[0])) is not None:",
        new="if False:",
        test=f"{_LOOP}::test_a_person_answers_what_the_agent_proposes_with_y_or_n_and_it_goes_on",
    ),
    Breakage(
        "A5",
        "a yes that was begun before the question answers it",
        file="frontends/chat/screen.py",
        old="session.enter(line, self._about)",
        new="session.enter(line, self._named)",
        test="frontends/chat/test_typing.py::test_a_yes_that_was_begun_before_the_question",
    ),
    Breakage(
        "X6",
        "a command in a chat is split into words instead of run by a shell",
        file="frontends/cli/chat_line.py",
        old="return [*found, _unquoted(text)]",
        new="return [*found, *_split(text)]",
        test="frontends/chat/test_commands.py::test_resume_continues_an_agent_task_in_the_background",
    ),
    Breakage(
        "X6",
        "hints in a chat name commands that only a shell knows",
        file="frontends/chat/chat_session.py",
        old='prefix="/"',
        new='prefix="errands "',
        test="frontends/chat/test_commands.py::test_hints_name_what_can_be_typed_in_the_chat",
    ),
    Breakage(
        "X2",
        "the chat's /tasks ignores the type",
        file="frontends/chat/commands.py",
        old="and (not types or claude_type(view) in types)",
        new="",
        test="scenarios/test_claude_dialect.py::test_tasks_filtered_by_status_and_type",
    ),
    Breakage(
        "X10",
        "a turn of a chat is not a span of its own",
        file="model/span.py",
        old="        if is_conversation(view):\n",
        new="        if False:\n",
        test=f"{_LOOP}::test_a_turn_of_the_chat_is_the_parent_span_of_what_its_agent_starts",
    ),
]
