"""The judge against lines it was not tuned to, and mutants of every line that must be asked about.

Parts: `corpus.jsonl` and `unseen.jsonl` (lines with the verdict they deserve, by family; the second was
written from the manuals of programs, without a look at the judge), `passed.jsonl` (harmful lines that once
passed), `advisories.jsonl` (harmful lines, by the causes that public advisories about coding agents name),
`mutants` and `operators` (ways to say a harmful line otherwise), `fuzz` (tries them in bulk), `edits` (lines
that a real shell reads after the judge), `traced` (lines that really run if they pass, under a tracer). Run
them with `python -m tests.fuzz.fuzz --help` and `python -m tests.fuzz.traced --help`.
"""
