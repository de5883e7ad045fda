"""The mark of tests that need a sandbox."""

from __future__ import annotations

import pytest

from errands.engine.walls.bubblewrap import obstacle

walled = pytest.mark.skipif(bool(obstacle()), reason=f"no sandbox here: {obstacle()}")
