//! All words for people and models. Pure: model types in, text out. What came from outside stands in a code block or
//! a code span, and nowhere else.

pub mod comment;
pub mod inert;
pub mod pr;
