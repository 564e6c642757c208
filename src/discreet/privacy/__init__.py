"""The judge: what a mechanism protects, decided from the exact numbers that are sampled.

It reads kernels and spaces and nothing else, and shares no code with whatever designed the mechanism.
"""
