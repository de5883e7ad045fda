"""Minutes of chaos, broken engines and traced commands, for `make test-long`."""
