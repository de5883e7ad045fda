"""After a reboot what was measured by the clock of the boot before is worth nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from errands.config import Config
from errands.engine.daemon import daemon
from errands.model.errors import ErrandsError
from errands.ports.home import Home, boottime, write_fuse


@pytest.mark.spec("X12")
def test_a_reboot_burns_the_fuse_before_anything_that_waits_here_can_begin(home: Home) -> None:
    """Until the host process is in touch again, other hosts may have the runs."""
    has_fuse: dict[str, bool] = {}

    def loops_of(boot: str) -> Callable[[Config, bool], Any]:
        def make_loops(config: Config, is_after_reboot: bool) -> Any:
            has_fuse[boot] = os.path.exists(home.fuse)
            raise ErrandsError("that is all this daemon does")

        return make_loops

    os.makedirs(home.path, exist_ok=True)
    write_fuse(home.fuse, boottime() + 3600)
    for boot in ("first", "first", "second"):
        assert daemon.serve(home, Config, boot, loops_of(boot)) == 1

    assert has_fuse == {"first": True, "second": False}
