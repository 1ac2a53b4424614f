//! A queue in virtual time.
