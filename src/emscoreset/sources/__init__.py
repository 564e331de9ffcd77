"""Where rows lie and where the work on them runs."""
