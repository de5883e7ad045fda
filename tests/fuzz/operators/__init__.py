"""Operators: functions that make a mutant of a line, or None where they do not fit it.

Every one keeps the harm, or adds some, by construction: words keep their value, wrappers start the same
program, joins neither comment the line out nor make an argument of it. Where a line is no longer harmful but
odd (an unknown program, an invisible character), it is one that nobody can prove harmless.
"""
