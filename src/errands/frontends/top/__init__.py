"""`errands top`: a live view of all tasks in a terminal, drawn with Textual, the extra `tui`.

It reads and acts through the engine alone. Lists and output are drawn line by line, as far as they are seen.
"""
