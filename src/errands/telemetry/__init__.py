"""Telemetry: exports the spans of ended runs to a collector, in its own process."""
