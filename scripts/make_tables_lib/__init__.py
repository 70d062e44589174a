"""Recipes for Delta tables. `handmade` writes logs and Parquet files by hand; the other modules hold the recipes."""
