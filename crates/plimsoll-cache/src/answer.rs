//! An answer of the origin, as a cache sees it.

use httparse::Header;

use crate::moment::Moment;

/// The head of a final answer.
#[derive(Clone, Copy, Debug)]
pub struct OriginResponse<'h, 'b> {
    /// Its status, 200 to 999.
    pub status: u16,
    /// What its first line says after the status.
    pub reason: &'b str,
    /// All its fields.
    pub headers: &'h [Header<'b>],
}

/// When an answer was asked for and when its head came, and a number for what is left to chance.
#[derive(Clone, Copy, Debug)]
pub struct OriginExchange {
    /// When the request was sent.
    pub requested_at: Moment,
    /// When the answer's head was there.
    pub received_at: Moment,
    /// Any number, all as likely.
    pub chance: u32,
}
