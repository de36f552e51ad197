"""Compiled passes over a block of rows. Kernels know arrays and rules only; nothing from above them."""
