"""The shapes of others: what existing clients of the Go `bd` read, and the records they exchange."""
