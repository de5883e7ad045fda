"""Measure everything, or the topics named: `python -m benchmarks [NAME...] [--quick] [--write]`.

The exit code is 1 when a bar was missed.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks import readme, topics
from benchmarks.machine import commands, machine
from benchmarks.scale import FULL, QUICK
from benchmarks.scratch import scratch
from benchmarks.table import Table


def main() -> int:
    words = _words()
    began = time.monotonic()
    head = f"`{commands(sys.argv[1:])}` on {machine()}."
    if words.quick:
        head += " A quick run: it shows that everything works, its figures are no results."
    print(head, flush=True)
    tables: list[Table] = []
    with scratch():
        for name in words.topics or topics.NAMES:
            for table in topics.measure(name, QUICK if words.quick else FULL):
                tables.append(table)
                print(f"\n{table}", flush=True)
    last = _summary(tables, time.monotonic() - began)
    print(f"\n{last}")
    if words.write:
        readme.write("\n\n".join((head, *map(str, tables), last)) + "\n")
    return int(any(figure.is_missed for table in tables for figure in table.figures))


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("topics", nargs="*", metavar="NAME", help=", ".join(topics.NAMES))
    parser.add_argument("--quick", action="store_true", help="small and fast, to see that everything works")
    parser.add_argument("--write", action="store_true", help="write the results into benchmarks/README.md")
    words = parser.parse_args()
    for name in words.topics:
        if name not in topics.NAMES:
            parser.error(f"there is no topic {name!r}; there are: {', '.join(topics.NAMES)}")
    return words


def _summary(tables: list[Table], seconds: float) -> str:
    judged = [(table, figure) for table in tables for figure in table.figures if figure.bar is not None]
    met = sum(figure.verdict.startswith("ok") for _, figure in judged)
    lines = [f"**{met} of {len(judged)} bars and goals are met**, measured in {seconds:,.0f} s."]
    lines += [
        f"- {figure.verdict} ({figure.bar}): {table.title}: {figure.what}, {figure.value}"
        for table, figure in judged
        if not figure.verdict.startswith("ok")
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
