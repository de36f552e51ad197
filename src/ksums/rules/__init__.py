"""The rules: when a sample moves. ``kinds`` describes each kind once; ``plain`` and ``compiled`` hold its two forms."""
