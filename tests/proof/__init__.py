"""Proof of the tests: break a requirement in the source, and see a test with its id fail."""
