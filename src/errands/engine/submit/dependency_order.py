"""The order of drafts that wait for each other."""

from __future__ import annotations

from errands.model.errors import Cycle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def dependency_order(after: Mapping[str, Sequence[str]]) -> list[str]:
    """Sort names so that each comes after all it waits for; raise Cycle if they wait for each other.

    Names that are not keys of the mapping are left out.
    """
    done: dict[str, None] = {}
    for first in after:
        path = {} if first in done else {first: iter(after[first])}
        while path:
            name = next(reversed(path))
            other = next(path[name], None)
            if other is None:
                del path[name]
                done[name] = None
            elif other in path:
                names = list(path)
                circle = " -> ".join((*names[names.index(other) :], other))
                raise Cycle(f"these tasks wait for each other: {circle}; remove one `after` of the circle")
            elif other in after and other not in done:
                path[other] = iter(after[other])
    return list(done)
