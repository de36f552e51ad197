"""What a fit will do: pure functions from parameters and the shape of the data to a ``Plan``.

Every threshold of the package is in this room, each with its reason and the benchmark it comes from. A decision that
changes labels depends on parameters and on the shape of the data only, never on the memory or the number of threads of
a machine, so that the same seed gives the same labels everywhere. The exception is asked for by name: with a limit in
seconds, ``timing.py`` decides by the clock.
"""
