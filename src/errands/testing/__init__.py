"""For tests, ours and those of adapter authors.

A manual clock, an engine on a temporary home, a stand-in for a model, and a contract for every plugin port.
"""
