"""[C]: mechanisms for counts with the properties that people expect, and what they cost."""
