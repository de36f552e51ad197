"""Fits: runs from several starts, each with annealing, search and passes as planned; the best is kept."""
