"""Programs that use our server through other people's packages; each runs in the environment of its package.

Each gets what it needs as JSON: `command`, `env` and `cwd` start the server, `model` is the address of the
fake model, `prompts` are sent one after the other. It prints the answers as JSON, on its last line.
"""
