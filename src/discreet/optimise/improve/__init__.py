"""Better use of a mechanism: calibration, remapping, symmetry."""
