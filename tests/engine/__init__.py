"""Tests of the engine with real processes, a real store and real crashes."""
