"""Progress comes from what a task reports, or else from an unambiguous last line."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.text.progress import LONGEST_TEXT, Progress, bar, eta, latest, parse, recognised

pytestmark = pytest.mark.spec("O10")


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        ("::progress 3/10 copying", Progress(percent=30, done=3, total=10, text="copying")),
        ("::progress 42% copying files", Progress(percent=42, text="copying files")),
        ("3/10 copying", Progress(percent=30, done=3, total=10, text="copying")),
        ("42.5%", Progress(percent=42.5)),
        ("0/3", Progress(percent=0, done=0, total=3)),
        ("1/1", Progress(percent=100, done=1, total=1)),
        ("12/10", Progress(percent=100, done=12, total=10)),
        ("150%", Progress(percent=100)),
        ("  ::progress   3/4  \n", Progress(percent=75, done=3, total=4)),
        ("::progress 3/4 a\x1b[2Jb", Progress(percent=75, done=3, total=4, text="a\\x1b[2Jb")),
    ],
)
def test_a_report_is_read(line: str, progress: Progress) -> None:
    assert parse(line) == progress


@pytest.mark.parametrize(
    "line", ["", "::progress", "hello", "3", "3/", "/3", "3/0", "-1/3", "%", "1e1%", "3/10x", "a/b"]
)
def test_text_that_is_not_a_report_is_ignored(line: str) -> None:
    assert parse(line) is None


def test_the_text_of_a_report_is_short() -> None:
    report = parse("::progress 1/2 " + "x" * 10_000)

    assert report is not None
    assert len(report.text) == LONGEST_TEXT


@pytest.mark.parametrize(
    ("line", "percent"),
    [
        ("3/10", 30),
        ("[12/300] Building CXX object main.o", 4),
        ("Downloading (3/4)", 75),
        ("step 3/10, loss 0.2", 30),
        ("step=3/10,", 30),
        ("done 3/10...", 30),
        ("test_shop.py ......            [ 45%]", 45),
        ("Downloading 12.5%", 12.5),
        ("100%", 100),
        (" 45%|####     | 45/100 [00:10<00:12,  3.4it/s]", 45),
        ("Epoch 3/20:  45%|████▌     | 45/100 [00:10<00:12]", 45),
        ("\x1b[32m 50%\x1b[0m\x1b[K", 50),
        ("0/7", 0),
        ("src/main.c 3/10", 30),
    ],
)
def test_counts_and_percentages_are_recognised(line: str, percent: float) -> None:
    progress = recognised(line)

    assert progress is not None
    assert progress.percent == percent


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        "11/15/2026",
        "2026/11/15",
        "11/15 09:30:12 INFO started",
        "open 24/7",
        "1/1",
        "0/0",
        "src/main.py",
        "a/b",
        "/1/2",
        "1/2/3",
        "http://host/3/10",
        "v1/2",
        "3/10x",
        "12.5/100",
        "10/100MB",
        "-1/10",
        "150%",
        "5%off",
        "50 %",
        "1.2.3%",
        "%d",
        "3 / 10",
    ],
)
def test_dates_and_paths_are_not_progress(line: str) -> None:
    assert recognised(line) is None


def test_a_percentage_that_disagrees_with_a_count_wins() -> None:
    assert recognised("part 1/2  80%") == Progress(percent=80)


def test_the_count_of_a_progress_bar_is_kept() -> None:
    assert recognised(" 45%|####  | 450/1000 [00:10<00:12]") == Progress(percent=45, done=450, total=1000)


@pytest.mark.parametrize(
    ("output", "percent"),
    [
        ("::progress 3/10 a\nhello\n80%\n", 30),
        ("::progress 1/10\n::progress 2/10\n", 20),
        ("10%\r20%\r30%", 30),
        ("10%\r20%\r30%\r\n\n", 30),
        ("say ::progress 3/10\n50%", 50),
        ("::progress nonsense\n50%", 50),
    ],
)
def test_the_last_word_of_an_output_counts(output: str, percent: float) -> None:
    progress = latest(output)

    assert progress is not None
    assert progress.percent == percent


@pytest.mark.parametrize("output", ["", "\n\n", "50%\nand now something else"])
def test_an_output_may_say_nothing(output: str) -> None:
    assert latest(output) is None


@given(st.floats(0, 100), st.integers(0, 200), st.booleans())
def test_a_bar_is_as_wide_as_asked(percent: float, width: int, plain: bool) -> None:
    drawn = bar(Progress(percent=percent), width, plain=plain)

    assert len(drawn) == width
    assert drawn.isascii() or not plain


def test_a_bar_is_full_at_the_end_alone() -> None:
    assert bar(Progress(percent=99.9), 10, plain=True) == "#########."
    assert bar(Progress(percent=100), 10, plain=True) == "##########"
    assert bar(Progress(percent=0), 4) == "░░░░"


def test_the_time_left_follows_from_the_time_so_far() -> None:
    assert eta(Progress(percent=25), timedelta(seconds=10)) == timedelta(seconds=30)
    assert eta(Progress(percent=100), timedelta(seconds=10)) == timedelta(0)


@pytest.mark.parametrize(("percent", "seconds"), [(0, 10), (50, 0), (0.0001, 1000)])
def test_sometimes_nothing_can_be_said_of_the_time_left(percent: float, seconds: float) -> None:
    assert eta(Progress(percent=percent), timedelta(seconds=seconds)) is None


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    for read in (parse, recognised, latest):
        progress = read(text)
        assert progress is None or 0 <= progress.percent <= 100
