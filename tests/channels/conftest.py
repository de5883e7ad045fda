"""The outbox that tests of channels use."""

from __future__ import annotations

import pytest

from errands.engine.engine import Engine
from tests.channels.outbox import Outbox


@pytest.fixture
def outbox(client: Engine) -> Outbox:
    return Outbox(client)
