"""The judge against lines it was not tuned to, and mutants of every line that must be asked about.

Parts: `corpus.jsonl` and `unseen.jsonl` (lines with the verdict they deserve, by family; the second was
written from the manuals of programs, without a look at the judge), `passed.jsonl` (harmful lines that once
passed), `mutants` and `operators` (ways to say a harmful line otherwise), `fuzz` (tries them in bulk),
`edits` (lines that a real shell reads after the judge). Run it with `python -m tests.fuzz.fuzz --help`.
"""
