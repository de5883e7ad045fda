"""Scenarios: small plans, each made to bring one kind of fault to light in seconds."""

from __future__ import annotations

from collections.abc import Callable

from tests.chaos.plan import Plan

SETTLED_WITHIN = 8.0
PLANS: dict[str, Callable[[], Plan]] = {}
