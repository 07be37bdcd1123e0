"""Look for a value in every file below a folder, as a program that recovers data would."""
