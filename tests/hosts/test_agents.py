"""Agents on other hosts: what they did, and answers to what they ask."""

from __future__ import annotations

from typing import Any

from tests.hosts.fleets import HOME, Fleet, Host


def events(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "detail": "{}"} for name in names]


async def store(host: Host, number: int, since: int, *names: str, attempt: int = 1) -> bool:
    return await host.fleet.store_events(
        number, attempt=attempt, host=host.id, epoch=host.epoch, since=since, events=events(*names)
    )


async def test_what_an_agent_did_is_stored_once_and_in_order(fleet: Fleet, host: Host, number: int) -> None:
    assert await store(host, number, 0, "one", "two")
    assert await store(host, number, 1, "two", "three")  # the reply to the first was lost

    assert await fleet.fleet.events(number, skip=0) == events("one", "two", "three")
    assert await fleet.fleet.events(number, skip=2) == events("three")


async def test_only_the_host_that_has_an_agent_says_what_it_did(
    fleet: Fleet, host: Host, number: int
) -> None:
    other = await fleet.host("build2")

    assert not await store(other, number, 0, "no")
    assert not await store(host, number, 0, "no", attempt=2)

    assert await fleet.fleet.events(number, skip=0) == []


async def test_the_first_answer_counts_and_only_for_the_attempt_that_asked(
    fleet: Fleet, host: Host, number: int
) -> None:
    for attempt, question, state in ((1, 7, "granted"), (1, 7, "refused"), (2, 8, "granted")):
        await fleet.fleet.answer_agent(number, attempt=attempt, question=question, answer={"state": state})

    found = await host.fleet.agent_answers(host.id, host.epoch)

    assert [(each.number, each.attempt, each.question) for each in found] == [(number, 1, 7)]
    assert found[0].answer == {"state": "granted"}
    assert await host.fleet.agent_answers("another", host.epoch) == []
    await host.finish(number)
    assert await host.fleet.agent_answers(host.id, host.epoch) == []
    (view,) = await fleet.fleet.results(HOME)
    assert view.state == "ended"
