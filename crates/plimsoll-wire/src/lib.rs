//! Protocols without I/O: HTTP/1.1 heads and bodies as state machines over bytes.
