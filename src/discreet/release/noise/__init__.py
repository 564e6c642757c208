"""The noise of each cell, and what is known about its size."""
