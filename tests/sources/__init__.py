"""Sources of events: real files, commands, HTTP and repositories; GitHub itself is played."""
