"""The nearest centres of rows, and the nearest clusters of clusters."""
