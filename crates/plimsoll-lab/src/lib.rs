//! Runs experiments: starts the parts in order, searches, owns the run log.
