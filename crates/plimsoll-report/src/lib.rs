//! Run and findings to HTML, JSON, CSV, Parquet, JUnit and text.
