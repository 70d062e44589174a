"""Many writers on one table, counted: `daemons` are the mounts, `writer` is what each writer runs, `account` counts."""
