"""An operation of the API: one request, and what it needs and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from errands.ports.schema import Schema, thing

Needs = Literal["nothing", "key", "person"]
NOTHING = thing("Nothing: an empty object.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A value in the path or in the query; in the query it is optional, unless `required`."""

    name: str
    schema: Schema
    place: Literal["path", "query"] = "query"
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`answer` names a shape, or is a media type if the answer is not JSON.

    `needs` a key (of a signed-in browser, or the API token), a person (a signed-in browser whose process is
    not part of a run), or nothing. `refusals` are the statuses it can have besides those that all have.
    """

    name: str
    method: Literal["GET", "POST", "DELETE"]
    path: str
    summary: str
    verb: str
    answer: str
    parameters: tuple[Parameter, ...] = ()
    body: Schema | None = None
    status: int = 200
    needs: Needs = "key"
    refusals: tuple[int, ...] = ()


def in_query(name: str, schema: Schema, *, required: bool = False) -> Parameter:
    return Parameter(name=name, schema=schema, required=required)


def in_path(name: str, schema: Schema) -> Parameter:
    return Parameter(name=name, schema=schema, place="path", required=True)
