"""The chat: a person and an agent talk, and what runs in the background speaks up in between.

A message is a prompt to the chat's conversation, which is an agent's task like any other: its run is awaited
and shown as it comes. So everything that holds for agents holds here as well: answers survive crashes, calls
wait for a yes, and a conversation goes on in another terminal. The command line carries out what it has verbs
for; it is handed in, because doors are strangers to each other.
"""
