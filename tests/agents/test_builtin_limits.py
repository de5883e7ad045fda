"""The built-in agent ends in time: at its budget, in a circle, and when no server answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from errands.agents.builtin.models import refusal
from errands.model.errors import AgentError, AgentUnavailable, BudgetExceeded
from errands.ports.agent import Decision, ToolCall
from errands.testing.agent_context import yes
from tests.agents.builtin_stage import Stage, call, stage
from tests.model_server import FAULTS, Fault, ModelServer


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def commands(count: int) -> list[str]:
    return [call("command", line=f"echo {number} >>witness") for number in range(1, count + 1)]


def breaking(
    model: ModelServer, *, after: str, fault: Fault = "500", times: int = 1
) -> Callable[[ToolCall], Decision]:
    """Allow every call, and break the next answers of the model at a certain one."""

    def decide(call: ToolCall) -> Decision:
        if after in (call.command or ""):
            model.faults += [fault] * times
        return yes(call)

    return decide


@pytest.mark.spec("S15")
@pytest.mark.trap(63)
@pytest.mark.parametrize(
    ("budget", "done", "words"),
    [
        ({"requests": 2}, 2, "2 requests is used up (2)"),
        ({"tool_calls": 2}, 2, "2 tool calls is used up (2)"),
        ({"input_tokens": 25}, 2, "25 input tokens is used up (30)"),
        ({"output_tokens": 12}, 2, "12 output tokens is used up (15)"),
        ({"total_tokens": 40}, 2, "40 total tokens is used up (45)"),
    ],
)
async def test_a_run_stops_cleanly_at_its_budget(
    on: Stage, budget: dict[str, int], done: int, words: str
) -> None:
    context = on.sit_down(spec={"budget": budget})

    with pytest.raises(BudgetExceeded) as told:
        await on.ask(*commands(5))

    assert str(told.value) == f"the budget of {words}"

    assert (on.project / "witness").read_text() == "".join(f"{n + 1}\n" for n in range(done))
    used = {name: context.used(name) for name in ("requests", "tool_calls", "input_tokens", "output_tokens")}
    assert used["requests"] == len(on.model.asked)
    assert used["tool_calls"] == done
    assert used["input_tokens"] == 10 * len(on.model.asked)
    # What was said and done is still there, and a later run goes on with it.
    on.sit_down(number=2)
    assert (await on.ask("RECALL echo 2 >>witness")).text == "recalled"


@pytest.mark.spec("S15")
@pytest.mark.trap(63)
@pytest.mark.fault("F47")
async def test_money_is_a_budget_where_prices_are_known(on: Stage) -> None:
    on.sit_down(spec={"budget": {"cost_microdollars": 10_000}})

    with pytest.raises(BudgetExceeded, match=r"^the budget of 10000 microdollars is used up \(\d+\)$"):
        await on.ask("USE 100000 1000", *commands(5), model="openai-chat:gpt-4o")

    assert len(on.model.asked) == 1
    assert on.context.used("cost_microdollars") > 10_000


@pytest.mark.spec("S15")
async def test_a_budget_holds_over_all_processes_of_a_run(on: Stage) -> None:
    lines = "\n".join(commands(5))
    context = on.sit_down(spec={"budget": {"tool_calls": 3}}, decide=breaking(on.model, after="echo 2"))
    agent = on.agent(tries=1)
    session = await agent.open(context)
    with pytest.raises(AgentUnavailable):
        await agent.prompt(session, lines, context)
    assert (on.project / "witness").read_text() == "1\n2\n"

    with pytest.raises(BudgetExceeded):
        await on.agent().recover(session, lines, on.sit_down(spec={"budget": {"tool_calls": 3}}))
    assert (on.project / "witness").read_text() == "1\n2\n3\n"


async def test_what_was_said_until_then_is_kept_with_the_error(on: Stage) -> None:
    on.sit_down(spec={"budget": {"requests": 1}})
    await on.ask("SAY halfway there")
    on.sit_down(number=2, spec={"budget": {"output_tokens": 4}})

    with pytest.raises(BudgetExceeded) as caught:
        await on.ask("SAY and further")
    assert caught.value.partial == "and further"


@pytest.mark.trap(63)
async def test_the_same_call_again_and_again_is_answered_with_words_and_then_ends(on: Stage) -> None:
    with pytest.raises(AgentError, match=r"is going round in circles.*command 4 times"):
        await on.ask(*[call("command", line="echo x >>witness")] * 9)

    assert (on.project / "witness").read_text() == "x\nx\n"
    assert "You have made this very call 3 times in a row" in on.results()[2]
    assert len(on.model.asked) == 4


async def test_no_approval_is_requested_for_a_call_that_goes_round_in_circles(on: Stage) -> None:
    with pytest.raises(AgentError, match="is going round in circles"):
        await on.ask(*[call("write_file", path="x", content="y")] * 9)

    assert len(on.context.asked) == 2


async def test_the_same_call_now_and_then_is_not_a_circle(on: Stage) -> None:
    twice = [call("command", line="echo x >>witness")] * 2
    other = call("command", line="true")

    await on.ask(*twice, other, *twice, other, *twice)

    assert (on.project / "witness").read_text() == "x\n" * 6


async def test_a_model_that_calls_unknown_tools_is_corrected_and_then_given_up(on: Stage) -> None:
    with pytest.raises(AgentError, match="the model could not continue"):
        await on.ask(*[call("command", wrong=number) for number in range(9)])

    assert 2 <= len(on.model.asked) <= 5
    noted = [each for each in on.context.notes if each.kind in ("tool", "tool_end")]
    assert [(each.name, each.text, each.failed) for each in noted[:2]] == [
        ("command", '{"wrong": 0}', False),
        ("command", "line: Field required; wrong: Extra inputs are not permitted", True),
    ]
    assert len(noted) == 2 * (len(on.model.asked) - 1)
    on.sit_down(number=2)
    assert (await on.ask("RECALL line")).text == "recalled"


@pytest.mark.fault("F47")
@pytest.mark.parametrize(("code", "meant"), [("429", "Too Many Requests"), ("500", "Internal Server Error")])
async def test_an_error_of_the_endpoint_is_reported_in_a_sentence(on: Stage, code: str, meant: str) -> None:
    with pytest.raises(AgentUnavailable) as caught:
        await on.ask(f"FAIL {code}", tries=1)

    said = str(caught.value)
    assert f"tried 1 times: the server answered {code} ({meant}): " in said
    assert "status_code" not in said
    assert "{" not in said


def test_a_long_error_is_cut_to_its_beginning() -> None:
    for body in ("page " * 999, {"message": "page " * 999}, {"error": "page " * 999}):
        said = refusal(ModelHTTPError(503, "m", body))
        assert said.startswith("the server answered 503 (Service Unavailable): page page")
        assert len(said) < 260
    assert refusal(ModelHTTPError(599, "m", None)) == "the server answered 599"
    assert refusal(ValueError("no error of a server")) == ""


@pytest.mark.fault("F47")
@pytest.mark.trap(61)
@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_a_broken_endpoint_is_tried_a_few_times_and_then_given_up(on: Stage, fault: Fault) -> None:
    with pytest.raises(AgentUnavailable, match="tried 3 times"):
        await on.ask(f"FAIL {fault}", tries=3, patience=0.3)

    assert len(on.model.asked) == 3
    assert on.context.used("requests") == 0


@pytest.mark.fault("F47")
@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_an_endpoint_that_comes_back_is_asked_again(on: Stage, fault: Fault) -> None:
    on.model.faults += [fault, fault]

    answer = await on.ask("SAY here I am", patience=0.5)

    assert answer.text == "here I am"
    assert len(on.model.asked) == 3


@pytest.mark.fault("F47")
@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_a_fault_in_the_middle_repeats_no_call(on: Stage, fault: Fault) -> None:
    on.sit_down(decide=breaking(on.model, after="echo 2", fault=fault))

    answer = await on.ask(*commands(3), patience=0.5)

    assert (on.project / "witness").read_text() == "1\n2\n3\n"
    assert answer.usage["tool_calls"] == 3


@pytest.mark.fault("F47")
async def test_the_time_between_tries_grows(on: Stage) -> None:
    with pytest.raises(AgentUnavailable):
        await on.ask("FAIL 500", tries=4, pause=0.05)

    at = [each.at for each in on.model.asked]
    pauses = [later - earlier for earlier, later in pairwise(at)]
    assert pauses[0] >= 0.05
    assert pauses[1] >= 0.1
    assert pauses[2] >= 0.2


@pytest.mark.fault("F47")
async def test_no_server_at_the_address(on: Stage) -> None:
    with pytest.raises(AgentUnavailable, match="tried 2 times"):
        await on.ask("hello", url="http://127.0.0.1:9/v1", tries=2)


async def test_a_slow_answer_is_waited_for(on: Stage) -> None:
    began = time.monotonic()
    assert (await on.ask("SLOW 0.5", "SAY at last")).text == "at last"
    assert time.monotonic() - began >= 0.5


@pytest.mark.spec("R3")
async def test_another_model_goes_on_when_the_first_one_fails(on: Stage) -> None:
    """Whatever was done before is not done again."""
    on.sit_down(decide=breaking(on.model, after="echo 2", times=2))
    with ModelServer() as remote:
        answer = await on.ask(*commands(3), tries=2, escalate={"model": "better", "url": remote.openai_url})

        assert [each.body["model"] for each in remote.asked] == ["better", "better"]
    assert (on.project / "witness").read_text() == "1\n2\n3\n"
    assert answer.usage["tool_calls"] == 3


@pytest.mark.spec("R3")
async def test_another_model_gets_out_of_the_circle(on: Stage) -> None:
    with ModelServer() as remote:
        # Its prompt is the same, but it has the four results already, and so it goes on to the answer.
        answer = await on.ask(
            *[call("command", line="echo x >>witness")] * 4,
            "SAY out of it",
            escalate={"model": "better", "url": remote.openai_url},
        )
        assert len(remote.asked) == 1
    assert answer.text == "out of it"
    assert (on.project / "witness").read_text() == "x\nx\n"


@pytest.mark.spec("R3")
async def test_when_both_models_fail_both_reasons_are_reported(on: Stage) -> None:
    with ModelServer() as remote:
        remote.faults += ["500"] * 2
        with pytest.raises(AgentUnavailable, match=r"better gave no usable .*\(before that: .*fake gave no"):
            await on.ask("FAIL refuse", tries=2, escalate={"model": "better", "url": remote.openai_url})


@pytest.mark.spec("R3")
async def test_an_exceeded_budget_does_not_escalate(on: Stage) -> None:
    with ModelServer() as remote:
        on.sit_down(spec={"budget": {"requests": 1}})
        with pytest.raises(BudgetExceeded):
            await on.ask(*commands(3), escalate={"model": "better", "url": remote.openai_url})
        assert remote.asked == []
