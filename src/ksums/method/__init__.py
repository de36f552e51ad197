"""The algorithm, room by room: data, state, nearest centres, engines, search, starts, fitting, trees, streams."""
