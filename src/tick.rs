//! The page: one tick.
