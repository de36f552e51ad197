"""The paper's experiments, beside the paper's own figures. From the command line: ``ksums reproduce``."""
