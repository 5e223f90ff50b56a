"""One file per command (or family): each runs one operation or query, and passes the result to the output."""
