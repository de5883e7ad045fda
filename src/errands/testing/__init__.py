"""For tests, ours and those of adapter authors.

A manual clock, an engine on a temporary home, fakes, and a contract suite for every port.
"""
