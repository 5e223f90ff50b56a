"""One file a command (or a close family): parse, run one operation or query, hand the result to output."""
