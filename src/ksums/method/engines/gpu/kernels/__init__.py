"""Triton kernels. ``twin.py`` says in plain torch what each of them computes."""
