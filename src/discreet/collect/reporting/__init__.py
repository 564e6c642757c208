"""A person's device: it reads what a collection asks, adds the noise, and sends the report and nothing else."""
