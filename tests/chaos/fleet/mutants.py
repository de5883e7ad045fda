"""Mutants: the protocol with one part broken on purpose, which a round or a check must notice."""

from __future__ import annotations

from tests.chaos.fleet.clocks import exchange
from tests.postgres import Server

# What each breaks: the function, what stands there, and what stands there instead.
MUTANTS: dict[str, tuple[tuple[str, str, str], ...]] = {
    # Hosts get a lease that is longer than the one that the fleet counts with, so no fuse burns in time.
    "no fuse": (("join", "extract(epoch from c.lease)", "1000 * extract(epoch from c.lease)"),),
    # A host that was given up is believed when it comes back, and goes on with what others may have by now.
    "no epoch": (
        ("renew", "epoch = its_epoch,", "epoch = its_epoch, state = 'up',"),
        (
            "renew",
            "and state <> 'gone'\n"
            "        and (epoch = its_epoch or (epoch < its_epoch and instant < c.settling_until))",
            "",
        ),
        ("has", " and r.epoch = its_epoch", ""),
        ("finish_all", " and r.epoch = its_epoch", ""),
        ("turn", "h.epoch = its_epoch and ", ""),
    ),
    # All executions of a run count as one, so what is known of the last one counts for the next.
    "no attempt": (
        ("take", "attempt = attempt + 1", "attempt = 1"),
        ("take_queued", "attempt = attempt + 1", "attempt = 1"),
        ("has", "r.attempt = its_attempt and ", ""),
        ("finish_all", "and r.attempt = e.attempt", ""),
    ),
    # After a failover runs are handed out before their hosts have said that they have them.
    "no quiet time": (("settle", "clock_timestamp() + quiet", "clock_timestamp()"),),
}


def break_protocol(server: Server, name: str) -> None:
    for function, old, new in MUTANTS[name] if name else ():
        exchange(server, function, old, new)
