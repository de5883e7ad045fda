"""The membership of a home in a fleet: a file in the home, which only its owner may read."""

from __future__ import annotations

import os

from errands.model.errors import BadValue, HomeError
from errands.model.record import fields, record
from errands.ports.own_file import replace_file


@record
class Membership:
    """`url` may contain a password, or be `env:NAME`; `id` is this home's own in the fleet, for ever."""

    id: str
    url: str
    name: str
    labels: tuple[str, ...]
    slots: int

    def address(self) -> str:
        """Return the address of the database itself."""
        return read_url(self.url)


def read_url(url: str) -> str:
    """Return the address that `env:NAME` stands for; any other is one already."""
    if not url.startswith("env:"):
        return url
    name = url.removeprefix("env:")
    found = os.environ.get(name, "")
    if not found:
        raise BadValue(f"the address of the fleet is in the variable {name!r}, which is not set; set it")
    return found


def read(path: str) -> Membership | None:
    """Return the membership of a home; None if it is not in a fleet."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return Membership(**{**found, "labels": tuple(found["labels"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise HomeError(
            f"{path} cannot be read ({error}); join the fleet again: errands host join URL"
        ) from error


def write(path: str, membership: Membership) -> None:
    """Write the membership of a home, for its owner alone."""
    from errands.model.text.json_text import plain_text

    values = {name: getattr(membership, name) for name in fields(membership)}
    replace_file(path, (plain_text({**values, "labels": list(membership.labels)}) + "\n").encode())
