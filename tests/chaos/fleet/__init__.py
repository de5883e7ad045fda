"""Chaos over several hosts: homes in network namespaces of their own, one PostgreSQL, and faults."""
