"""The release, its page and its bundle: written, read and verified side by side."""
