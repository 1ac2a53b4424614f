//! Locks of things that stay whole.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock of something that stays whole even when a thread died holding it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
