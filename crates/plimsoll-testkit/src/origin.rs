//! Origins on real sockets.
