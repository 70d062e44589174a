//! Chance that comes out the same each time.

/// Where decisions come from.
pub enum Dice {
    /// xorshift64*.
    Seeded(u64),
    /// Bytes that somebody chose; zeros when there are no more.
    Given(Vec<u8>),
}

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice::Seeded(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Decisions as these bytes say, the last first: each takes as many as it needs.
    pub fn given(bytes: &[u8]) -> Dice {
        Dice::Given(bytes.to_vec())
    }

    fn next(&mut self, end: u64) -> u64 {
        match self {
            Dice::Seeded(state) => {
                *state ^= *state >> 12;
                *state ^= *state << 25;
                *state ^= *state >> 27;
                state.wrapping_mul(0x2545_f491_4f6c_dd1d)
            }
            Dice::Given(bytes) => {
                let bits = u64::BITS - (end - 1).leading_zeros();
                (0..bits.div_ceil(8)).fold(0, |number, _| {
                    number << 8 | u64::from(bytes.pop().unwrap_or(0))
                })
            }
        }
    }

    /// A number below `end`, which is above 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next(end as u64) % end as u64) as usize
    }

    /// One of `choices`.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}
