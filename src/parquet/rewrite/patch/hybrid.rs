//! Levels and indices: the hybrid of runs and bit-packing.
//!
//! See "Run Length Encoding / Bit-Packing Hybrid" in `Encodings.md` of the format.

use crate::parquet::varint::{take_varint, write_varint};

/// A number of some width.
pub(super) trait Number: Copy + PartialEq {
    /// The lowest bits of `number`.
    fn lowest(number: u32) -> Self;
    fn number(self) -> u32;
}

impl Number for u8 {
    fn lowest(number: u32) -> u8 {
        number as u8
    }

    fn number(self) -> u32 {
        self.into()
    }
}

impl Number for u32 {
    fn lowest(number: u32) -> u32 {
        number
    }

    fn number(self) -> u32 {
        self
    }
}

/// The bits that numbers up to `max` have.
pub(super) fn width(max: u32) -> u32 {
    u32::BITS - max.leading_zeros()
}

/// Replaces what is in `into` by the first `count` of `bytes`, of `bits` bits each, at most those of
/// the number's type. An error is a clause.
pub(super) fn decode<T: Number>(
    mut bytes: &[u8],
    bits: u32,
    count: usize,
    into: &mut Vec<T>,
) -> Result<(), String> {
    into.clear();
    while into.len() < count {
        let left = count - into.len();
        let header = take_varint(&mut bytes, "a page ends before its values")?;
        let run = usize::try_from(header >> 1).unwrap_or(usize::MAX);
        if run == 0 {
            return Err("a run of a page has no numbers".to_owned());
        }
        if header & 1 == 1 {
            // The last group need not be whole.
            let length = run.saturating_mul(bits as usize).min(bytes.len());
            let (packed, rest) = bytes.split_at(length);
            unpack(packed, bits, run.saturating_mul(8).min(left), into)?;
            bytes = rest;
        } else {
            let (value, rest) = bytes
                .split_at_checked(bits.div_ceil(8) as usize)
                .ok_or("a page ends in a run")?;
            bytes = rest;
            let mut word = [0; 4];
            word[..value.len()].copy_from_slice(value);
            let value = u32::from_le_bytes(word);
            if width(value) > bits {
                return Err(format!("a page has a number of more than {bits} bits"));
            }
            into.resize(into.len() + run.min(left), T::lowest(value));
        }
    }
    Ok(())
}

fn unpack<T: Number>(
    packed: &[u8],
    bits: u32,
    count: usize,
    into: &mut Vec<T>,
) -> Result<(), String> {
    if packed.len().saturating_mul(8) < count.saturating_mul(bits as usize) {
        return Err("a page has fewer numbers than values".to_owned());
    }
    let mask = (1_u64 << bits) - 1;
    into.extend((0..count).map(|at| {
        let first_bit = at * bits as usize;
        let from = &packed[first_bit / 8..];
        let word = match from.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                let mut word = [0; 8];
                word[..from.len()].copy_from_slice(from);
                u64::from_le_bytes(word)
            }
        };
        T::lowest(((word >> (first_bit % 8)) & mask) as u32)
    }));
    Ok(())
}

/// Appends `numbers`, of `bits` bits each. Eight take no more than a byte and their bits.
pub(super) fn encode<T: Number>(numbers: &[T], bits: u32, into: &mut Vec<u8>) {
    let mut packed_from = 0;
    let mut at = 0;
    while let Some(group) = numbers[at..].first_chunk::<8>() {
        let first = group[0];
        if group.iter().any(|&number| number != first) {
            at += 8;
            continue;
        }
        pack(&numbers[packed_from..at], bits, into);
        let rest = &numbers[at..];
        let run = rest.iter().position(|&number| number != first);
        let run = run.unwrap_or(rest.len());
        write_varint(into, (run as u64) << 1);
        into.extend_from_slice(&first.number().to_le_bytes()[..bits.div_ceil(8) as usize]);
        at += run;
        packed_from = at;
    }
    pack(&numbers[packed_from..], bits, into);
}

/// Appends a run of groups of eight, the last of which is padded.
fn pack<T: Number>(numbers: &[T], bits: u32, into: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(8);
    write_varint(into, (groups as u64) << 1 | 1);
    let end = into.len() + groups * bits as usize;
    let (mut word, mut used) = (0_u64, 0);
    for number in numbers {
        word |= u64::from(number.number()) << used;
        used += bits;
        if used >= 32 {
            into.extend_from_slice(&(word as u32).to_le_bytes());
            word >>= 32;
            used -= 32;
        }
    }
    into.extend_from_slice(&word.to_le_bytes()[..used.div_ceil(8) as usize]);
    into.resize(end, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_within_their_bound() {
        let mut state = 1_u32;
        for bits in 0..=32 {
            for count in [0, 1, 7, 8, 9, 64, 1_003, 5_000] {
                for spread in [1, 3, 20] {
                    let mut numbers = Vec::new();
                    while numbers.len() < count {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        let number = u64::from(state) & ((1 << bits) - 1);
                        let run = 1 + state as usize % spread;
                        numbers.extend(std::iter::repeat_n(number as u32, run));
                    }
                    numbers.truncate(count);
                    let mut bytes = Vec::new();
                    encode(&numbers, bits, &mut bytes);
                    let most = count.div_ceil(8) * (1 + bits as usize);
                    assert!(bytes.len() <= most, "{} > {most}", bytes.len());
                    let mut found = vec![7];
                    decode(&bytes, bits, count, &mut found).expect("sound");
                    assert_eq!(found, numbers);
                    // What is cut off was padding, or is missed.
                    if let Some((_, cut)) = bytes.split_last() {
                        let cut = decode(cut, bits, count, &mut found);
                        assert!(cut.is_err() || found == numbers);
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let mut into: Vec<u32> = Vec::new();
        for bytes in [&[][..], &[3], &[0, 0], &[4], &[0x80; 12], &[2, 1, 5, 0]] {
            assert!(decode(bytes, 2, 100, &mut into).is_err(), "{bytes:?}");
        }
        // A run of a number that does not have two bits.
        assert!(decode(&[16, 4], 2, 8, &mut into).is_err());
        // A run of a billion is no more than what is asked for.
        decode(&[0x80, 0x94, 0xeb, 0xdc, 0x07, 1], 2, 5, &mut into).expect("sound");
        assert_eq!(into, [1; 5]);
        // The last group is padded, or not.
        decode(&[3, 0b1110_0100], 2, 4, &mut into).expect("sound");
        assert_eq!(into, [0, 1, 2, 3]);
    }
}
