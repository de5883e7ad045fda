"""The part of the fleet that is about agents: what they did, and answers to what they ask."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    class AgentFleet(Protocol):
        async def store_events(
            self,
            number: int,
            *,
            attempt: int,
            host: str,
            epoch: int,
            since: int,
            events: Sequence[Mapping[str, Any]],
        ) -> bool:
            """Store what an agent did, after the first `since` events; False as in `Fleet.report`."""

        async def events(self, number: int, *, skip: int) -> list[Mapping[str, Any]]:
            """Return what an agent did, in all attempts in order, without the first so many events."""

        async def store_steps(
            self,
            number: int,
            *,
            attempt: int,
            host: str,
            epoch: int,
            since: int,
            run: str,
            bodies: Sequence[str],
        ) -> bool:
            """Store messages of an agent's session, after the first `since`, which name their `run` there."""

        async def steps(self, number: int) -> list[Step]:
            """Return the messages of an agent's session, in all attempts in order."""

        async def answer_agent(
            self, number: int, *, attempt: int, question: int, answer: Mapping[str, Any]
        ) -> None:
            """Answer what an agent asks on the host that has it; the first answer counts."""

        async def agent_answers(self, host: str, epoch: int) -> list[AgentAnswer]:
            """List the answers to what agents asked that a host has."""


@record
class Step:
    """A message of an agent's session, which names the run `run` of the host that stored it."""

    run: str
    body: str


@record
class AgentAnswer:
    """The answer of a person at home to a question of a host, by its number there."""

    number: int
    attempt: int
    question: int
    answer: Mapping[str, Any]
