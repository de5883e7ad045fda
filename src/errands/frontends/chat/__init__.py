"""The chat: a person talks with an agent, and background tasks report in between.

A message is a prompt to the chat's conversation, which is an ordinary agent task: the chat waits for its run
and streams the answer. So everything that holds for agent tasks holds here: answers survive crashes, tool
calls wait for approval, and a conversation can be continued in another terminal. The verbs of the command
line are passed in, because frontends do not know each other.
"""
