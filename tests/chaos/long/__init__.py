"""Minutes of chaos, which `make test-chaos` runs: more seeds, and engines that the harness must find broken."""
