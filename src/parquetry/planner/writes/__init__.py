"""Questions about a write: where its files go, what is checked before, and what its statement has read."""
