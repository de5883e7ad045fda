"""Benchmarks: what Errands costs, beside its peers and the limits of the machine, all measured in one run."""
