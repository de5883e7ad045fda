"""For tests, ours and those of whoever writes an adapter.

A clock turned by hand, an engine on a temporary home, and a contract suite for every port.
"""
