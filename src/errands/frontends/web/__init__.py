"""The web page and the JSON API: one table of operations, served on this machine to signed-in browsers."""
