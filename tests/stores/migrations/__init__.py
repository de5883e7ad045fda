"""Old stores, one of every schema, and that they still open."""
