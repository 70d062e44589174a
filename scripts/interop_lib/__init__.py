"""Comparison of deltafs with independent readers of Delta tables and of Parquet.

Nothing in here is used by the product. `replay` is a second, deliberately plain implementation of
PROTOCOL.md; `oracles` asks other people's libraries; `golden` compares file lists; `readers` compares the
rows that Parquet tools read from a mount; `live` does so while another program writes; `report` counts.
"""
