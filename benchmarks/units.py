"""Units: how numbers are written for people."""

from __future__ import annotations


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds * 1e3:,.0f} ms"


def microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"


def megabytes(size: float) -> str:
    return f"{size / 1e6:.2f} MB" if size < 1e7 else f"{size / 1e6:.1f} MB"


def speed(bytes_per_second: float) -> str:
    return f"{bytes_per_second / 1e6:,.0f} MB/s"


def times(ratio: float) -> str:
    return f"{ratio:.2f}"
