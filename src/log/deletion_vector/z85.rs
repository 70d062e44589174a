//! Z85 (<https://rfc.zeromq.org/spec/32/>), which descriptors write bytes in.
//!
//! Z85 itself knows whole groups of four bytes alone. Writers in Java pad with zeros; writers in
//! Rust, whose `z85` crate extends the format, begin the last group with a `#`, which no other
//! group can begin with, for each byte that it lacks. Both are read.

const ALPHABET: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/// What stands in [`DIGITS`] for a byte that is no digit.
const NONE: u8 = u8::MAX;

/// The digit that each byte stands for.
const DIGITS: [u8; 256] = {
    let mut digits = [NONE; 256];
    let mut digit = 0;
    while digit < ALPHABET.len() {
        digits[ALPHABET[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

/// The bytes that `text` stands for: four for each five characters, less what the last group says
/// that it lacks. Else what is wrong with the text.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, String> {
    if !text.len().is_multiple_of(5) {
        return Err(format!(
            "it has {} bytes, and Z85 text comes in groups of 5",
            text.len()
        ));
    }
    let mut bytes = Vec::with_capacity(text.len() / 5 * 4);
    let last = (text.len() / 5).saturating_sub(1);
    for (index, group) in text.as_bytes().chunks_exact(5).enumerate() {
        let lacking = match index == last {
            true => group
                .iter()
                .take(3)
                .take_while(|&&byte| byte == b'#')
                .count(),
            false => 0,
        };
        let mut number = 0_u64;
        for &byte in &group[lacking..] {
            let digit = DIGITS[usize::from(byte)];
            if digit == NONE {
                return Err(format!(
                    "byte {byte:#04x} in the group at {} is no Z85 digit",
                    index * 5
                ));
            }
            number = number * 85 + u64::from(digit);
        }
        let bits = 32 - 8 * lacking;
        if number >> bits != 0 {
            return Err(format!(
                "the group at {} stands for {number}, which is more than {bits} bits",
                index * 5
            ));
        }
        bytes.extend_from_slice(&(number as u32).to_be_bytes()[lacking..]);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specification_s_own_example_decodes() {
        let bytes = [0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B];
        assert_eq!(decode("HelloWorld").unwrap(), bytes);
        assert_eq!(decode("").unwrap(), [0; 0]);
        assert_eq!(decode("%nSc0").unwrap(), [0xFF; 4]);
    }

    #[test]
    fn the_last_group_may_lack_bytes() {
        for (text, bytes) in [
            (
                "HelloWorld#0002",
                &[0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B, 0, 0, 2][..],
            ),
            ("##093", &[3, 0]),
            ("###30", &[255]),
        ] {
            assert_eq!(decode(text).unwrap(), bytes, "{text}");
        }
        for (text, reason) in [
            ("##09300000", "more than 32 bits"),
            ("###31", "more than 8 bits"),
            ("####0", "more than 8 bits"),
            ("##963", "more than 16 bits"),
        ] {
            let error = decode(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_z85_is_refused_with_the_reason() {
        for (text, reason) in [
            ("1234", "groups of 5"),
            ("12 34", "0x20"),
            ("12\"34", "0x22"),
            ("0000\u{e9}", "groups of 5"),
            ("000\u{e9}", "0xc3"),
            ("%nSc1", "4294967296"),
            ("#####", "more than 8 bits"),
        ] {
            let error = decode(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
