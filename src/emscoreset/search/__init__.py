"""How a fit is driven: where it starts, and what it does between passes."""
