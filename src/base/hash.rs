//! A hash whose value is part of the contract: names and inode numbers are made from it, so it
//! never changes between releases.

use sha2::{Digest, Sha256};

/// The first eight bytes (big endian) of SHA-256 over `domain` and `parts`, each preceded by its
/// length as eight little-endian bytes, so that no two different inputs hash the same text.
pub fn stable_hash64(domain: &str, parts: &[&[u8]]) -> u64 {
    let digest = stable_hash256(domain, parts);
    u64::from_be_bytes(
        digest[..8]
            .try_into()
            .expect("a SHA-256 digest has 32 bytes"),
    )
}

/// All of the digest of which [`stable_hash64`] takes the first eight bytes.
pub fn stable_hash256(domain: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in std::iter::once(domain.as_bytes()).chain(parts.iter().copied()) {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}
