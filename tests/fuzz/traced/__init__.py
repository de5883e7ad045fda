"""The judge against the kernel: what it calls `auto` is really run, and a tracer reports every effect.

`drafts` draws lines of which it is not known what they do. The judge reads all of them. Of those that it
calls `auto`, one of each shape runs in `machine`, a scratch image of temporary directories without any wall
of Errands, and `effects` reads in the trace what it tried to write, connect to, start, or read of a secret.
`python -m tests.fuzz.traced --help` tries them in bulk.
"""
