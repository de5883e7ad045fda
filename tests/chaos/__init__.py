"""The chaos harness: a real engine in real processes, hit by seeded faults, and a checker of what it reports.

Parts: `subject` (the engine under test), `workload` and `planned_task` (tasks whose truth is known from
outside), `faults` and `nemesis` (planned faults, and what carries them out), `witness` (what tasks write
themselves), `observer` (what a reader sees meanwhile), `evidence` and `checker` (was anything lost,
doubled or wrong), `mutants` (broken engines, each of which the checker must catch). Run it with
`python -m tests.chaos --help`.
"""
