"""What can be asked of one pass: maps put together, roles of heads, alignment. Numbers only; no torch."""
