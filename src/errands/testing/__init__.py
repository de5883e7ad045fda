"""For the tests of plugins: an engine on a temporary home, and a contract for every plugin port."""
