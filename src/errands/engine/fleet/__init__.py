"""Many hosts: what the host process of a home does, for its own tasks and for those of other homes."""
