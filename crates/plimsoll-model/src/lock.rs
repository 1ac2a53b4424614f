//! Locks of state that stays consistent.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks state that stays consistent even when a thread panicked while holding the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
