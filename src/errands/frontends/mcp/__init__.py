"""MCP: the tools of a dialect for any client of the Model Context Protocol, over stdio or HTTP.

A server is one more door: it carries calls, questions and news between a client and the engine, and holds
nothing that would be lost with it. Whatever takes longer than a moment outlives the connection.
"""
