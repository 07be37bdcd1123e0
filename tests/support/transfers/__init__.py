"""Random histories of transfers between tables, whose sum never changes for any reader."""
