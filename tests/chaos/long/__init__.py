"""Minutes of chaos for `make test-chaos`: more seeds, and engines that the harness must find broken."""
