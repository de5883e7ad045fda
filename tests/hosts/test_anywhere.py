"""What every home sees of the runs of others, and asks of the homes that have them."""

from __future__ import annotations

import pytest

from errands.model.record import evolve
from errands.ports.fleet import Reply
from tests.hosts.fleets import HOME, Fleet, placed

pytestmark = pytest.mark.spec("X12")


async def test_runs_are_found_by_the_beginning_of_their_task(fleet: Fleet) -> None:
    for key, task in (("a", "make-7k2m4x"), ("b", "make-7k9999"), ("c", "make_7k"), ("d", "Make-7k2m4x")):
        await fleet.fleet.offer(evolve(placed(key), task=task))

    assert [each.key for each in await fleet.fleet.find("make-7k")] == ["b", "a"]
    assert [each.key for each in await fleet.fleet.find("make-7k2m4x")] == ["a"]
    assert [each.key for each in await fleet.fleet.find("c")] == ["c"]
    assert await fleet.fleet.find("make-7%") == []


async def test_what_is_found_says_what_its_home_made_of_it(fleet: Fleet) -> None:
    host = await fleet.host(HOME.removeprefix("id-"))
    for key in ("a", "b"):
        number = await fleet.fleet.offer(evolve(placed(key), home=host.id, body={"commands": ["true"]}))
        assert await host.take(number)
        assert await host.finish(number, code=1)
    (run,) = await fleet.fleet.find("a")
    assert (run.acked, run.goes_on, run.home_name, run.home_is_up) == (False, False, host.facts.name, True)
    assert (run.body, run.outcome, run.ended is not None) == ({"commands": ["true"]}, {"code": 1}, True)

    await fleet.fleet.acknowledge(host.id, ["a", "b"], continued=["b"])
    fleet.pass_time(31, host=host.facts.name)

    for key, goes_on in (("a", False), ("b", True)):
        (run,) = await fleet.fleet.find(key)
        assert (run.acked, run.goes_on, run.home_is_up) == (True, goes_on, False)


async def test_a_request_is_made_once_and_answered_once(fleet: Fleet) -> None:
    first = await fleet.fleet.request(HOME, "task-1", "cancel", author="desk", body={})
    again = await fleet.fleet.request(HOME, "task-1", "cancel", author="phone", body={"why": 1})

    assert first == again
    (request,) = await fleet.fleet.requests(HOME)
    assert (request.task, request.wish, request.author, request.body) == (
        "task-1",
        "cancel",
        "phone",
        {"why": 1},
    )
    assert await fleet.fleet.requests("another") == []
    assert await fleet.fleet.reply_to(first) is None

    await fleet.fleet.reply("another", first, Reply(refusal="not yours"))
    assert await fleet.fleet.reply_to(first) is None
    await fleet.fleet.reply(HOME, first, Reply(result="a"))
    await fleet.fleet.reply(HOME, first, Reply(refusal="too late"))

    assert await fleet.fleet.reply_to(first) == Reply(result="a")
    assert await fleet.fleet.requests(HOME) == []
    assert await fleet.fleet.request(HOME, "task-1", "cancel", author="desk", body={}) != first
