"""The judge: the privacy of a mechanism, decided from the exact numbers that are sampled.

It reads only kernels and spaces, and shares no code with the designers of mechanisms.
"""
