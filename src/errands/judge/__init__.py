"""Risk: what a command may do, judged before it runs."""
