//! Flow control of a response that is being stored.

use std::task::Context;

use super::Exchange;
use super::course::Course;

impl Exchange {
    /// Whether nothing needs the rest of the response.
    pub(super) fn is_in_vain(&self) -> bool {
        matches!(&self.answer.course, Course::ToStore(filling) if filling.is_vain())
    }

    /// Whether a response that is too large to be stored is far enough ahead of its client.
    pub(super) fn is_far_ahead(&self, cx: &Context<'_>) -> bool {
        matches!(&self.answer.course, Course::ToStore(filling) if filling.is_far_ahead(cx))
    }
}
