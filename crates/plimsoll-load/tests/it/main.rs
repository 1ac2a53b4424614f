//! The load engine against origins on real sockets.

mod closed;
mod connections;
mod outcomes;
mod redirects;
mod secure;
mod timing;
mod trial;
