"""The order of tasks that wait for each other."""

from __future__ import annotations

from errands.model.errors import Cycle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def ordered(after: Mapping[str, Sequence[str]]) -> list[str]:
    """Put names in an order in which each follows all it waits for; a circle is refused and shown.

    Names that are waited for but not in the mapping stand outside it and are left out.
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
