//! Whether an exchange goes on reading an answer that is kept.

use std::task::Context;

use super::Exchange;
use super::storage::Course;

impl Exchange {
    /// Whether nobody wants the rest of the answer.
    pub(super) fn is_in_vain(&self) -> bool {
        matches!(&self.answer.course, Course::ToStore(filling) if filling.is_vain())
    }

    /// Whether an answer that is too large to be kept is far enough ahead of who asked for it.
    pub(super) fn is_far_ahead(&self, cx: &Context<'_>) -> bool {
        matches!(&self.answer.course, Course::ToStore(filling) if filling.is_far_ahead(cx))
    }
}
