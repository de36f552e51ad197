"""First labels: everything that can start a run, behind ``first_labels``."""
