"""The contract for a store's notices; the inbox is the part of the outbox that its owner takes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from errands.model.notices.notice import Address, Notice
from tests.hand_clock import START
from tests.samples import sample_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store

SECOND = timedelta(seconds=1)
INBOX = Address(channel="inbox", target="me")
MAIL = Address(channel="mail", target="me")


def add(store: Store, number: int, address: Address = MAIL) -> None:
    with store:
        store.add_notice(f"x-222222.{number}", "completed", address, body=str(number), now=START)


def waiting(store: Store, address: Address = MAIL) -> list[Notice]:
    return store.queued(address, limit=99)


class OutboxContract:
    @pytest.mark.trap(3)
    def test_a_notice_is_unique_per_run_event_and_address(self, store: Store) -> None:
        for _ in range(2):
            add(store, 1, INBOX)
        assert len(store.inbox("me")) == 1

    @pytest.mark.fault("F7")
    def test_an_inbox_notice_is_taken_once_and_never_sent(self, store: Store) -> None:
        add(store, 1, INBOX)
        assert store.queues() == []
        assert store.queued(INBOX, limit=9) == []
        assert store.undelivered() == []
        with store:
            assert [each.body for each in store.take_inbox("me", reader="r", now=START, limit=9)] == ["1"]
        with store:
            assert store.take_inbox("me", reader="r", now=START, limit=9) == []

    @pytest.mark.trap(5)
    def test_a_notice_goes_only_to_its_owner(self, store: Store) -> None:
        add(store, 1, INBOX)
        with store:
            assert store.take_inbox("you", reader="r", now=START, limit=9) == []
            assert len(store.inbox("me")) == 1

    def test_notices_are_found_by_the_beginning_of_their_owners(self, store: Store) -> None:
        add(store, 1, Address(channel="inbox", target="kept:ada"))
        add(store, 2, Address(channel="inbox", target="kept:bob"))
        add(store, 3, Address(channel="inbox", target="keeper"))
        assert [each.body for each in store.inbox_beginning("kept:")] == ["1", "2"]
        with store:
            store.take_inbox("kept:ada", reader="r", now=START, limit=9)
        assert [each.body for each in store.inbox_beginning("kept:")] == ["2"]

    def test_the_queue_of_an_address_is_due_when_its_head_is(self, store: Store) -> None:
        other = Address(channel="mail", target="you")
        for address in (MAIL, other):
            add(store, 1, address)
        [head] = waiting(store)
        with store:
            store.defer([head.id], error="down", next_at=START + SECOND)
        add(store, 2)

        queues = dict(store.queues())
        assert queues[MAIL] == START + SECOND
        assert queues[other] < START
        assert [each.body for each in waiting(store)] == ["1", "2"]
        assert [(each.attempts, each.error) for each in waiting(store)] == [(1, "down"), (0, None)]

    def test_waiting_for_a_busy_recipient_does_not_count_as_an_attempt(self, store: Store) -> None:
        add(store, 1)
        [notice] = waiting(store)
        with store:
            store.defer([notice.id], error="busy", next_at=START + SECOND, is_attempt=False)
        [notice] = waiting(store)
        assert (notice.attempts, notice.error) == (0, "busy")

    def test_a_delivery_does_not_change_when_more_notices_come(self, store: Store) -> None:
        for number in (1, 2):
            add(store, number)
        first, second = waiting(store)
        with store:
            store.assign_delivery([first.id, second.id])
        add(store, 3)
        assert [each.delivery for each in waiting(store)] == [first.id, first.id, None]

    def test_a_delivered_notice_is_no_longer_waiting(self, store: Store) -> None:
        for number in (1, 2):
            add(store, number)
        first, second = waiting(store)
        with store:
            store.mark_delivered([first.id], now=START)
        assert [each.id for each in waiting(store)] == [second.id]

    def test_old_finished_notices_are_removed_and_waiting_ones_are_kept(self, store: Store) -> None:
        for number in (1, 2, 3, 4):
            add(store, number)
        first, second, third, fourth = (each.id for each in waiting(store))
        with store:
            store.mark_delivered([first], now=START)
            store.give_up([second], "dead", error="down")
            store.purge(before=START, history_before=START)
        assert [each.id for each in store.undelivered()] == [second, third, fourth]
        with store:
            store.purge(before=START + SECOND, history_before=START)
        assert [each.id for each in store.undelivered()] == [third, fourth]

    @pytest.mark.spec("O13")
    def test_what_was_never_read_in_an_inbox_goes_after_its_run(self, store: Store) -> None:
        with store:
            store.add_environment("none", "{}")
            store.add_task(sample_task("x-222222"))
        for number in (1, 2, 3):
            add(store, number, INBOX)
        with store:
            store.purge(before=START, history_before=START)
        assert [each.body for each in store.inbox("me")] == ["1", "2", "3"]
        with store:
            store.purge(before=START + SECOND, history_before=START)
        # The first run is still there, and the newest number is never used twice.
        assert [each.body for each in store.inbox("me")] == ["1", "3"]

    @pytest.mark.trap(15)
    def test_undeliverable_notices_are_listed_and_can_be_sent_again(self, store: Store) -> None:
        for number in (1, 2, 3):
            add(store, number)
        first, second, third = (each.id for each in waiting(store))
        with store:
            store.assign_delivery([first, second])
            store.give_up([first, second], "dead", error="down")
            store.give_up([third], "unknown", error="no answer")
        assert store.queues() == []
        found = store.undelivered(given_up=True)
        assert [(each.state, each.error) for each in found] == [
            ("dead", "down"),
            ("dead", "down"),
            ("unknown", "no answer"),
        ]
        with store:
            assert store.send_again([second]) == [first, second]
        assert [(each.id, each.attempts, each.delivery) for each in waiting(store)] == [
            (first, 0, first),
            (second, 0, first),
        ]
        with store:
            assert store.send_again(None) == [third]
            assert store.send_again([first]) == []

    @pytest.mark.trap(4)
    def test_reading_an_inbox_removes_nothing_and_misses_nothing(self, store: Store) -> None:
        begin = store.last_notice()
        add(store, 1, INBOX)
        add(store, 2, INBOX)
        add(store, 3, Address(channel="inbox", target="another"))
        with store:
            store.take_inbox("me", reader="test", now=START, limit=1)
        first, second = store.inbox("me", after=begin)

        assert [each.state for each in (first, second)] == ["delivered", "waiting"]
        assert [each.id for each in store.inbox("me", after=first.id)] == [second.id]
        assert store.inbox("me", after=store.last_notice()) == []
        assert len(store.inbox("me")) == 1
