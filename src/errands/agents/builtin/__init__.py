"""The built-in agent: a language model of any provider, with tools for commands, files and notes.

Its loop is pydantic-ai's and runs in the process of the run; every step is stored at once.
"""

from errands.agents.builtin.backend import Builtin as Builtin
