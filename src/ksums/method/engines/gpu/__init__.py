"""Passes on a graphics card: rows propose moves block by block, in low precision; float32 decides; integers add up.

``card.py`` holds the tensors, ``passes.py`` is the algorithm. It asks for eight operations, which ``launch.py`` makes
with the Triton kernels of ``kernels/`` and ``twin.py`` in plain torch, on any device: the definition of right. Nothing
here is imported before somebody fits a tensor on a card.
"""
