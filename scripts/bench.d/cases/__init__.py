"""The benchmarks: each module's `run` takes a `Context` and yields `Row`s as they are taken. With
no binary in the context it takes the peers' side only."""
