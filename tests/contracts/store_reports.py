"""The contract for what views and metrics read of a store."""

from __future__ import annotations

import pytest

from errands.testing.clock import START
from tests.contracts.store_runs import add, claim
from tests.samples import sample_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store


class ReportContract:
    @pytest.mark.spec("X9")
    def test_the_data_version_differs_after_every_change_and_only_then(self, store: Store) -> None:
        before = store.data_version()
        assert store.data_version() == before
        add(store, sample_task())
        changed = store.data_version()
        assert changed != before
        assert store.data_version() == changed

    def test_running_runs_are_named(self, store: Store) -> None:
        run = add(store, sample_task())
        assert store.running_ids() == []
        claim(store)
        assert store.running_ids() == [run.id]
        with store:
            store.request_stop(run.id, by="ada", now=START)
        assert store.running_ids() == [run.id]
