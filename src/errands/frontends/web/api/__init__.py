"""The API as data: the table of operations, the shapes of answers, and what is made from them."""
