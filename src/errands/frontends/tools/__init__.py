"""What the frontends that offer a dialect's tools have in common."""
