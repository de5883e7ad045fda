"""`errands top`: a live view of all tasks in a terminal, drawn with Textual, the extra `tui`.

It reads and acts through the engine alone. Only the visible lines of lists and output are drawn.
"""
