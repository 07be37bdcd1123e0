"""Streaming reads of a table: where a stream is, and which files its next batch reads."""
