"""The fleet: what homes on several hosts agree on, and nothing more.

Every host stays a home of its own, with its store, its daemon and its shims. The fleet knows which hosts
there are, which of them may run what, and what became of it. A run that is placed on another host is offered
here by the home that has the task, taken by a host, carried out there as an ordinary task, and finished here.

Every write of a host names its epoch, and every write about a run names the attempt as well. A write that
names an old one is refused and changes nothing, so a host that was given up cannot overwrite what came after
it. Times are compared by the clock of the fleet alone, or by one host's own clock; never between two hosts.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
    from typing import Any, Literal, Protocol

    from errands.model.limits import OnLoss
    from errands.ports.fleet.agents import AgentFleet
    from errands.ports.fleet.input import InputFleet
    from errands.ports.fleet.notices import NoticeFleet
    from errands.ports.fleet.outlook import OutlookFleet

    # What happens to a run whose host is given up: it is lost, visibly, another host runs it again, or, if it
    # is that of an agent whose steps are stored, another host continues it.
    LossPolicy = OnLoss | Literal["steps"]
    # Doubted is what may be on any host after the fleet lost its last commits, until a host affirms it or
    # its home offers it again.
    PlacedState = Literal["queued", "offered", "taken", "ended", "doubted"]
    HostState = Literal["up", "draining", "gone"]
    Wish = Literal["cancel", "approve", "reject", "resume", "keep", "send", "pause", "unpause"]

    class Fleet(AgentFleet, InputFleet, NoticeFleet, OutlookFleet, Protocol):
        """Every method raises `FleetUnreachable` without an answer in time; calling again is safe."""

        async def open(self) -> None:
            """Connect, and create or upgrade the tables; refuse tables of a newer version.

            When the fleet cannot be reached, this raises `FleetUnreachable` and may be called again.
            """

        async def close(self) -> None:
            """Close all connections; the lease and the runs of this host stay as they are."""

        # Hosts

        async def join(self, host: HostFacts) -> Lease:
            """Join, or continue the lease that this host still has: its epoch and its runs stay."""

        async def renew(
            self, host: str, epoch: int, *, free: int, tails: Sequence[Piece] = ()
        ) -> Orders | None:
            """Extend the lease and store the last output of runs; None: refused, the host was given up."""

        async def drain(self, name: str, *, wanted: bool) -> bool:
            """Stop a host from taking new runs, or let it take them again; False if its name is unknown."""

        async def leave(self, host: str, epoch: int) -> None:
            """Give up the lease at once; runs that this host still has are handled as its loss."""

        async def hosts(self) -> list[HostView]:
            """List the hosts by name, those that are gone last, without those to be forgotten."""

        async def set_lane(self, name: str, width: int | None) -> None:
            """Limit how many runs of a lane the whole fleet runs at once; None removes the limit."""

        async def lanes(self) -> list[FleetLane]:
            """List the lanes that have a limit over the whole fleet, or runs that are not over, by name."""

        async def reap(self) -> int:
            """Give up hosts whose lease expired a while ago, if that is safe; return how many.

            Any host may call it at any time: it does nothing until the fleet has been up and reachable for
            long enough, because before that every lease looks expired.
            """

        # The home that has the task

        async def offer(self, placed: Placed) -> int:
            """Offer a run, once per home and key, and return its number in the fleet."""

        async def offer_all(self, several: Sequence[Placed]) -> list[int]:
            """Offer runs in one call: all of them, or none."""

        async def cancel(self, home: str, key: str, *, grace: float) -> None:
            """End a run: at once if no host has it yet, else its host is told. Unknown ones are ignored."""

        async def results(self, home: str) -> list[PlacedView]:
            """List the runs of a home that started, ended or are doubted, until their end is acknowledged."""

        async def acknowledge(self, home: str, keys: Sequence[str], *, continued: Sequence[str] = ()) -> None:
            """Note that the home has recorded these ends; the fleet may forget them.

            `continued` are those among them after which their task continues, such as one that is retried.
            """

        async def follow(self, numbers: Sequence[int], *, seconds: float) -> None:
            """Ask for the output of runs as it is printed, for a while."""

        async def output(self, number: int, *, attempt: int, start: int) -> list[Piece]:
            """Return the stored pieces of an attempt's output that end after `start`, in order."""

        async def outputs(self, wanted: Sequence[tuple[int, int, int]]) -> list[Piece]:
            """Return this for several, each a number, an attempt and a start, as far as one answer goes."""

        # The host that runs it

        def taken(self, *, host: HostFacts, ahead: Callable[[], int] = int) -> AsyncIterator[Taken]:
            """Yield runs that this host has from now on, as many at once as it has slots, until it is closed.

            `ahead` says how many more it wants now, to wait here for a slot (see `give_back`). A run can come
            a second time, if the reply to the first one was lost. Lost connections are replaced inside.
            """

        async def held(self, host: str, epoch: int) -> list[Taken]:
            """List the runs that this host has, as far as the fleet knows.

            Those among them that it took `ahead` it may have given back, if the fleet lost that.
            """

        async def affirm(self, host: str, epoch: int, runs: Sequence[Taken]) -> list[int]:
            """Have again what this host took, after the fleet lost its last commits; return what is refused.

            `Orders.settling` says when to do it. The home of a run offers what it placed again as well.
            """

        async def report(
            self, number: int, *, attempt: int, host: str, epoch: int, view: Mapping[str, Any]
        ) -> bool:
            """Store what is known about a live run; False: the fleet gave up this attempt, end it.

            While the fleet is settling, an attempt that it does not know raises `FleetUnreachable` instead.
            """

        async def report_all(
            self, views: Mapping[tuple[int, int], Mapping[str, Any]], *, host: str, epoch: int
        ) -> list[bool]:
            """Store this for several in one call, by number and attempt; return the answers in that order."""

        async def store_output(self, pieces: Sequence[Piece], *, host: str, epoch: int) -> None:
            """Store output of runs that this host has; what belongs to other attempts is dropped."""

        async def finish(
            self, number: int, *, attempt: int, host: str, epoch: int, outcome: Mapping[str, Any]
        ) -> bool:
            """Record how an attempt ended, and offer what waits for its room; False: refused, discard it.

            Ends that come together are recorded in one call.

            While the fleet is settling, an attempt that it does not know raises `FleetUnreachable` instead.
            """

        async def lose(self, number: int, *, attempt: int, host: str, epoch: int, why: str) -> bool:
            """Record that this host does not know how an attempt ended; False as in `finish`.

            Where the run's policy allows it, a host starts it again.
            """

        async def give_back(self, number: int, *, attempt: int, host: str, epoch: int) -> bool:
            """Return a run taken ahead that will not begin here, so that another host can take it.

            False as in `finish`: another one may have it already.
            """

        def changes(self, *, home: str) -> AsyncGenerator[None]:
            """Yield whenever results or orders may be waiting for this home.

            It also yields now and then without a reason, so that nothing waits for ever.
            """

        # Any home

        async def find(self, beginning: str) -> list[FoundRun]:
            """Return the runs whose task's id begins like this, or whose key is this, newest first."""

        async def request(
            self, home: str, task: str, wish: Wish, *, author: str, body: Mapping[str, Any], token: str = ""
        ) -> int:
            """Ask the home that has a task to do something with it; return the number of the request.

            A home that is out of touch does it when it is back. Asking again with the same `token` does not
            ask twice.
            """

        async def reply_to(self, request: int) -> Reply | None:
            """Return the answer to a request; None: not yet answered."""

        async def requests(self, home: str) -> list[Request]:
            """List what other homes want of this one, oldest first."""

        async def reply(self, home: str, request: int, reply: Reply) -> None:
            """Answer a request of another home."""

        async def placed(self, *, limit: int) -> list[PlacedView]:
            """List what is placed in the whole fleet, newest first."""


@record
class HostFacts:
    """`id` is the home's own, for ever; tasks choose by `name` and `labels`; `boot` is the boot's id."""

    id: str
    name: str
    labels: tuple[str, ...]
    slots: int
    version: str
    boot: str


@record
class Lease:
    """`seconds` is how long it holds after each renewal, by the fleet's clock; renew it every `interval`."""

    epoch: int
    seconds: float
    interval: float


@record
class Stop:
    """A run that a host has to end, with `grace` seconds between asking and killing."""

    number: int
    attempt: int
    grace: float


@record
class Orders:
    """What the fleet wants of a host: runs to end, and runs with followed output.

    `pauses` says of runs that are or were paused whether they should be; `inputs` has the number of the last
    piece of input of those that were sent any.

    While the fleet is `settling`, it may have lost its last commits: hosts
    affirm what they have, homes offer what they placed again, and until then no host takes anything. Another
    `timeline` than before means that this happened, also to a host that was out of touch all the while.
    """

    stops: tuple[Stop, ...]
    followed: tuple[int, ...]
    draining: bool
    settling: bool = False
    timeline: str = ""
    pauses: tuple[tuple[int, bool], ...] = ()
    inputs: tuple[tuple[int, int], ...] = ()


@record
class Placed:
    """A run to be carried out elsewhere: `key` is unique in its home, `body` is all that a host needs.

    `selector` is the name or a label of a host, or `*`; the lowest `priority` is first. One that `had_host`
    was taken before, as its home knows: it never begins a second time if its policy forbids that.
    """

    home: str
    key: str
    task: str
    selector: str
    lane: str
    priority: int
    policy: LossPolicy
    body: Mapping[str, Any]
    had_host: bool = False


@record
class Taken:
    """A run that a host has from now on, as `attempt`; the rest is what its home offered.

    One taken `ahead` waits here for a slot. Its home hears of it with its first report, or its end.
    """

    number: int
    attempt: int
    home: str
    body: Mapping[str, Any]
    key: str = ""
    task: str = ""
    selector: str = "*"
    lane: str = ""
    priority: int = 0
    policy: LossPolicy = "lost"
    ahead: bool = False


@record
class Piece:
    """Part of the output of an attempt; `start` counts the bytes printed before it."""

    number: int
    attempt: int
    start: int
    content: bytes


@record
class PlacedView:
    """A placed run: `view` is what its host last said, `outcome` how it ended.

    `host` is the name of the host that has or had it. An outcome has the facts of an exit line (`rundir`);
    the fleet itself writes `{"stop": "cancel"}` for a run that ended before a host had it, and
    `{"lost": why}` for one whose host was given up.
    """

    number: int
    home: str
    key: str
    task: str
    state: PlacedState
    attempt: int
    host: str
    selector: str
    lane: str
    view: Mapping[str, Any]
    outcome: Mapping[str, Any] | None


@record
class FoundRun:
    """A placed run as any home sees it: a view of it, what its host got, and what is known about its home.

    `acked` means that its home has recorded its end, `goes_on` that its task continued after it. `ended` is
    the seconds since it ended.
    """

    number: int
    home: str
    key: str
    task: str
    state: PlacedState
    attempt: int
    host: str
    selector: str
    lane: str
    view: Mapping[str, Any]
    outcome: Mapping[str, Any] | None
    body: Mapping[str, Any]
    home_name: str
    home_is_up: bool
    acked: bool
    goes_on: bool
    ended: float | None


@record
class Request:
    """What another home wants done with a task of this one, or kept here; `author` is the name of that home.

    `token` tells two requests of the same kind apart.
    """

    number: int
    task: str
    wish: Wish
    token: str
    body: Mapping[str, Any]
    author: str


@record
class Reply:
    """The answer to a request, which was done unless there is a `refusal`.

    `result` is the id of what came of it; for a pause, what that changed.
    """

    refusal: str = ""
    result: str = ""


@record
class FleetLane:
    """A lane over the whole fleet; without a `width` it has no limit. What is offered counts as running."""

    name: str
    width: int | None
    running: int
    waiting: int


@record
class HostView:
    """A host of the fleet; `seen` is the seconds since its last renewal, by the fleet's clock."""

    id: str
    name: str
    labels: tuple[str, ...]
    state: HostState
    slots: int
    running: int
    seen: float
    version: str
    epoch: int
