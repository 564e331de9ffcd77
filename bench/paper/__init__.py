"""The paper's tables and figures, computed again: `make paper` writes docs/paper.md."""
