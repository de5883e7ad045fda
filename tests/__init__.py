"""The tests: real engines, real processes, and nothing that sleeps where it could wait."""
