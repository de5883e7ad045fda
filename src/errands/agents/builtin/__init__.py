"""The built-in agent: a language model of any provider, with tools for commands, files and notes.

Its loop is pydantic-ai's and runs in the process of the run; whatever happens is kept on the desk at once.
"""

from errands.agents.builtin.backend import Builtin as Builtin
