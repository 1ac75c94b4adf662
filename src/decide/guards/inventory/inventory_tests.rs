//! Placeholder of cases.
