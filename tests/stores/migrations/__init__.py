"""Stores of every old schema, and the test that they still open."""
