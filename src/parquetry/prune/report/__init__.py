"""What the scans of a query read and left out, as data, as text and as HTML; and why joins shuffle."""
