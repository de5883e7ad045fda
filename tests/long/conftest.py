"""The harness of chaos, with as many rounds at a time as there."""

from __future__ import annotations

from tests.chaos.conftest import verdict_of

__all__ = ["verdict_of"]
