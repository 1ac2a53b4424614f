//! To come in the commit that follows.
