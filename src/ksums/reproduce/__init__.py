"""The paper's experiments, reproduced and compared with what the paper reports. From a shell: ``ksums reproduce``."""
