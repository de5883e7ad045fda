"""MCP: the tools of a dialect for any client of the Model Context Protocol, over stdio or HTTP.

The server carries calls, questions and notifications between a client and the engine. It keeps no state that
would be lost with it: whatever takes longer than a moment outlives the connection.
"""
