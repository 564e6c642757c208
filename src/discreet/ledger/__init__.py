"""The privacy budget and the chained book of what was spent."""
