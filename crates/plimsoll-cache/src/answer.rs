//! A response of the origin as the cache evaluates it.

use httparse::Header;

use crate::moment::Moment;

/// The head of a final response.
#[derive(Clone, Copy, Debug)]
pub struct OriginResponse<'h, 'b> {
    /// Its status, 200 to 999.
    pub status: u16,
    /// Reason phrase of the status line.
    pub reason: &'b str,
    /// All its fields.
    pub headers: &'h [Header<'b>],
}

/// When a response was requested and when its head arrived, and a random number.
#[derive(Clone, Copy, Debug)]
pub struct OriginExchange {
    /// When the request was sent.
    pub requested_at: Moment,
    /// When the head of the response arrived.
    pub received_at: Moment,
    /// Uniformly distributed.
    pub chance: u32,
}
