//! Carries out a schedule against a target and closes windows.
