"""Tables: sums and counts of observed cells, column by column, and the passes that move their rows."""
