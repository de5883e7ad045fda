"""What these tests use of others: the rounds of chaos, the fleets of the scenarios, and a web server."""

from __future__ import annotations

from tests.chaos.conftest import verdict_of
from tests.frontends.web.conftest import web
from tests.scenarios.conftest import big, fleet, gate, laptop

__all__ = ["big", "fleet", "gate", "laptop", "verdict_of", "web"]
