"""Output of runs: bounded, and written by the host that has the run."""

from __future__ import annotations

from errands.ports.fleet import Piece
from tests.hosts.fleets import Fleet, Host, placed

KIB = 1024


def piece(number: int, start: int, content: bytes, *, attempt: int = 1) -> Piece:
    return Piece(number=number, attempt=attempt, start=start, content=content)


async def test_the_last_output_comes_with_each_renewal_and_replaces_the_one_before(
    fleet: Fleet, host: Host, number: int
) -> None:
    for start, content in [(0, b"one"), (3, b"two"), (3, b"two and more")]:
        assert await host.fleet.renew(host.id, host.epoch, free=1, tails=[piece(number, start, content)])

    assert await fleet.fleet.output(number, attempt=1, start=0) == [piece(number, 3, b"two and more")]


async def test_output_is_read_from_where_the_reader_is(fleet: Fleet, host: Host, number: int) -> None:
    pieces = [piece(number, 0, b"abc"), piece(number, 3, b"def"), piece(number, 6, bytes(range(256)))]
    await host.fleet.store_output(pieces, host=host.id, epoch=host.epoch)

    assert await fleet.fleet.output(number, attempt=1, start=0) == pieces
    assert await fleet.fleet.output(number, attempt=1, start=3) == pieces[1:]
    assert await fleet.fleet.output(number, attempt=1, start=5) == pieces[1:]
    assert await fleet.fleet.output(number, attempt=1, start=262) == []
    assert await fleet.fleet.output(number, attempt=2, start=0) == []


async def test_the_output_of_several_runs_comes_in_answers_of_some_megabytes(
    fleet: Fleet, host: Host, number: int
) -> None:
    half, several = 512 * KIB, [number]
    while len(several) < 4:
        several.append(await fleet.fleet.offer(placed(f"run{len(several)}")))
        assert await host.take(several[-1])
    pieces = [piece(each, start, b"x" * half) for each in several for start in (0, half)]
    for each in pieces:
        await host.fleet.store_output([each], host=host.id, epoch=host.epoch)

    first = await fleet.fleet.outputs([(each, 1, 0) for each in several])
    rest = await fleet.fleet.outputs([(several[1], 1, half), *((each, 1, 0) for each in several[2:])])

    assert first == pieces[:4]
    assert rest == pieces[3:7]
    assert await fleet.fleet.outputs([(number, 1, 2 * half)]) == []


async def test_only_the_first_and_the_last_half_megabyte_is_kept(
    fleet: Fleet, host: Host, number: int
) -> None:
    size = 64 * KIB
    for n in range(64):
        await host.fleet.store_output(
            [piece(number, n * size, bytes([n]) * size)], host=host.id, epoch=host.epoch
        )

    found = await fleet.fleet.output(number, attempt=1, start=0)

    assert [each.start // size for each in found] == [*range(8), *range(56, 64)]


async def test_output_of_others_is_dropped(fleet: Fleet, host: Host, number: int) -> None:
    other = await fleet.host("other")
    await other.fleet.store_output([piece(number, 0, b"x")], host=other.id, epoch=other.epoch)
    await host.fleet.store_output([piece(number, 0, b"x", attempt=2)], host=host.id, epoch=host.epoch)
    await host.fleet.store_output([piece(number, 0, b"x")], host=host.id, epoch=host.epoch + 1)
    await host.fleet.store_output([piece(number + 1, 0, b"x")], host=host.id, epoch=host.epoch)

    assert fleet.sql("select count(*) from fleet.chunks") == [(0,)]


async def test_a_followed_run_is_an_order_for_a_while(fleet: Fleet, host: Host, number: int) -> None:
    orders = await host.renew()
    assert orders is not None
    assert orders.followed == ()

    await fleet.fleet.follow([number], seconds=3600)
    await fleet.fleet.follow([number], seconds=1)

    orders = await host.renew()
    assert orders is not None
    assert orders.followed == (number,)
    fleet.sql("update fleet.runs set followed_until = followed_until - interval '1 hour'")
    orders = await host.renew()
    assert orders is not None
    assert orders.followed == ()
