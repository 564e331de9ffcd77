"""The compiled kernel of emscoreset."""

def cpu_levels() -> list[str]:
    """Instruction sets of this processor, best last."""
