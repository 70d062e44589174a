//! Unsigned numbers of variable length, as thrift and the encodings of the format have them: seven
//! bits a byte, the lowest first.

/// Takes a number off the front of `bytes`. The error is a clause: `cut_off` where they end before
/// the number does.
pub(super) fn take_varint(bytes: &mut &[u8], cut_off: &'static str) -> Result<u64, &'static str> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(cut_off)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("a number has more than ten bytes")
}

/// Appends a number to `out`.
pub(super) fn write_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_what_is_none_is_refused() {
        for number in [0, 1, 127, 128, 300, 1 << 35, u64::MAX] {
            let mut bytes = Vec::new();
            write_varint(&mut bytes, number);
            let whole = bytes.clone();
            bytes.push(9);
            let mut rest = &bytes[..];
            assert_eq!(take_varint(&mut rest, "cut off"), Ok(number));
            assert_eq!(rest, [9]);
            let mut cut = &whole[..whole.len() - 1];
            assert_eq!(take_varint(&mut cut, "cut off"), Err("cut off"));
        }
        let endless = take_varint(&mut &[0x80; 20][..], "cut off");
        assert!(endless.is_err_and(|problem| problem.contains("ten bytes")));
    }
}
