"""From noisy reports back to the distribution of the truths, with a certificate and with error bars."""
