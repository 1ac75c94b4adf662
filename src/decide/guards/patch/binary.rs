//! git's binary blocks: base 85 lines, zlib, and deltas.

use std::io::Read as _;

/// What a block may come to; beyond it nothing can be reviewed anyway.
const LARGEST: usize = 64 << 20;

const ALPHABET: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// One line: its length as a letter, then five characters for each four bytes.
pub(super) fn decode_line(line: &[u8]) -> Option<Vec<u8>> {
    let (first, body) = line.split_first()?;
    let length = match first {
        b'A'..=b'Z' => first - b'A' + 1,
        b'a'..=b'z' => first - b'a' + 27,
        _ => return None,
    };
    let mut out = Vec::with_capacity(body.len());
    for chunk in body.chunks(5) {
        let mut value: u32 = 0;
        for byte in chunk {
            let digit = ALPHABET.iter().position(|a| a == byte)?;
            value = value.checked_mul(85)?.checked_add(u32::try_from(digit).ok()?)?;
        }
        (chunk.len() == 5).then_some(())?;
        out.extend_from_slice(&value.to_be_bytes());
    }
    let length = usize::from(length);
    (length <= out.len()).then(|| {
        out.truncate(length);
        out
    })
}

/// The content of exactly this size.
pub(super) fn inflate(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    if size > LARGEST {
        return None;
    }
    let mut out = Vec::new();
    let limit = u64::try_from(size).ok()? + 1;
    flate2::read::ZlibDecoder::new(packed)
        .take(limit)
        .read_to_end(&mut out)
        .ok()?;
    (out.len() == size).then_some(out)
}

/// Puts a delta onto the content it was made for.
pub(super) fn undelta(delta: &[u8], old: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta;
    if number(&mut rest)? != old.len() {
        return None;
    }
    let size = number(&mut rest)?;
    if size > LARGEST {
        return None;
    }
    let mut out = Vec::new();
    while let Some((op, after)) = rest.split_first() {
        rest = after;
        if op & 0x80 == 0 {
            let length = usize::from(*op);
            out.extend_from_slice(rest.get(..length).filter(|_| length > 0)?);
            rest = &rest[length..];
        } else {
            let offset = parts(op & 0x0f, &mut rest)?;
            let length = parts((op >> 4) & 0x07, &mut rest)?;
            let length = if length == 0 { 0x1_0000 } else { length };
            out.extend_from_slice(old.get(offset..offset.checked_add(length)?)?);
        }
        (out.len() <= size).then_some(())?;
    }
    (out.len() == size).then_some(out)
}

/// Seven bits a byte, the lowest first.
fn number(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    for shift in (0..).step_by(7).take(5) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// The bytes of a number whose bits say which of them are there.
fn parts(present: u8, rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0;
    for bit in 0..4 {
        if present & (1 << bit) != 0 {
            let (byte, after) = rest.split_first()?;
            *rest = after;
            value |= usize::from(*byte) << (8 * bit);
        }
    }
    Some(value)
}
