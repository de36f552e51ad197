"""Tables as they are: what each column is, how its cells become numbers and codes, what clusters look like in it."""
