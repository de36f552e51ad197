"""What every computation needs and no algorithm: compiling, threads, vectors, random numbers, blocks of rows."""
