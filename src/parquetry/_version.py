"""The version of the package and of the bridge that belongs to it."""

__version__ = "0.1.0"
