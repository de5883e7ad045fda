"""`errands install`: adds Errands to the files of agent programs, and removes it again."""
