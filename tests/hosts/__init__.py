"""Tests of many hosts, against a real PostgreSQL."""
