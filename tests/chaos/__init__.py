"""The chaos harness: a real engine in real processes, struck by seeded faults, and a checker of what it says.

Parts: `subject` (the engine under test), `workload` and `deed` (tasks whose truth is known from outside),
`faults` and `nemesis` (what strikes, and who does it), `witness` (files that the tasks write themselves),
`observer` (what a reader sees meanwhile), `evidence` and `checker` (was anything lost, doubled or wrong),
`mutants` (broken engines, each of which the checker must catch). Run it with `python -m tests.chaos --help`.
"""
