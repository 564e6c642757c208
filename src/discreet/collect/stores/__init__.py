"""Where a service keeps reports: counts of each report, and which batches were counted."""
