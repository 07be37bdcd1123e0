"""Ranges of functions of texts: their order, their parts, replaced characters, and texts of numbers.

Texts sort by their characters. All texts between two texts begin with what both begin with.
"""
