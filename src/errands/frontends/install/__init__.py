"""Installing: Errands in the files of the programs that agents work in, and out of them again."""
