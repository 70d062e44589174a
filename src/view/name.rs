//! How a presented file is named.
//!
//! A name is bound to one content for ever, so it is made from everything that decides the content:
//! the path of the data file, the id of its deletion vector, the schema as far as it shapes files
//! ([`shape_fingerprint`](crate::schema::shape_fingerprint)) and the layout. Names, and the inode
//! numbers made from them, are part of the contract and never change between releases.

#[cfg(test)]
mod tests;

use crate::base::hash::stable_hash64;

use super::Layout;

/// What a presented name ends in.
const SUFFIX: &str = ".parquet";
/// The digits of the hash.
const DIGITS: usize = 16;
/// The longest name, in bytes.
const NAME_MAX: usize = 255;
/// The longest stem: what is left of a name of 255 bytes by `~`, the digits and `.parquet`.
const STEM_MAX: usize = NAME_MAX - 1 - DIGITS - SUFFIX.len();

/// The name that a file keeps where it is presented byte for byte; `None` where it cannot keep its
/// own: it does not lie in the table root, tools would hide the name or stumble over it, or it
/// looks like one that [`presented_name`] makes.
///
/// `path` is the decoded path relative to the table root.
pub fn own_name(path: &str) -> Option<&str> {
    let fit = path.ends_with(SUFFIX)
        && path.len() <= NAME_MAX
        && !path.starts_with(['_', '.'])
        && !has_trouble(path)
        && parse_presented(path).is_none();
    fit.then_some(path)
}

/// Characters that no presented name has.
fn is_trouble(character: char) -> bool {
    matches!(character, '/' | '\\' | ':') || character.is_control()
}

fn has_trouble(text: &str) -> bool {
    // Names are nearly always ASCII, of which bytes tell all.
    if text.is_ascii() {
        // Without an early end, so that many bytes are compared at once.
        text.bytes().fold(false, |found, byte| {
            found
                | (byte < b' ')
                | (byte == b'/')
                | (byte == b'\\')
                | (byte == b':')
                | (byte == 0x7F)
        })
    } else {
        text.contains(is_trouble)
    }
}

/// Appends the name of any presentation that does not keep its own name to `out`:
/// `<stem>~<16 hex>.parquet`, at most 255 bytes. Allocates nothing beyond `out`.
///
/// `path` is the key of the data file: its decoded path relative to the table root, or its
/// absolute location. `dv` is the `uniqueId` of its deletion vector, `shape` the
/// [`shape_fingerprint`](crate::schema::shape_fingerprint) of the schema. The stem is the last
/// part of the path without `.parquet`, made harmless, and is for people only.
pub fn presented_name(path: &str, dv: Option<&str>, shape: u64, layout: Layout, out: &mut String) {
    let hash = stable_hash64(
        "deltafs name v1",
        &[
            path.as_bytes(),
            dv.unwrap_or_default().as_bytes(),
            &shape.to_be_bytes(),
            layout.as_str().as_bytes(),
        ],
    );
    push_stem(path, out);
    out.push('~');
    for digit in (0..DIGITS as u32).rev() {
        let nibble = (hash >> (4 * digit)) as u32 & 0xF;
        out.push(char::from_digit(nibble, 16).unwrap_or('0'));
    }
    out.push_str(SUFFIX);
}

fn push_stem(path: &str, out: &mut String) {
    let start = out.len();
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file
        .strip_suffix(SUFFIX)
        .unwrap_or(file)
        .trim_start_matches(['_', '.']);
    if stem.len() <= STEM_MAX && !stem.is_empty() && !has_trouble(stem) {
        out.push_str(stem);
        return;
    }
    for character in stem.chars() {
        let character = if is_trouble(character) {
            '-'
        } else {
            character
        };
        if out.len() - start + character.len_utf8() > STEM_MAX {
            break;
        }
        out.push(character);
    }
    if out.len() == start {
        out.push_str("file");
    }
}

/// The stem and the hash of a name that [`presented_name`] makes; `None` for any other name.
pub fn parse_presented(name: &str) -> Option<(&str, u64)> {
    let name = name.strip_suffix(SUFFIX)?;
    let (stem, digits) = name.rsplit_once('~')?;
    let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if stem.is_empty() || digits.len() != DIGITS || !digits.bytes().all(hexadecimal) {
        return None;
    }
    Some((stem, u64::from_str_radix(digits, 16).ok()?))
}

/// The name of a file in the raw view: its decoded path relative to the table root, directories
/// and all. `None` for a path that cannot be a path below a directory: an absolute location, or one
/// with a part that is empty, `.`, `..`, longer than 255 bytes, or has a NUL in it.
pub fn raw_name(path: &str) -> Option<&str> {
    let fit = |part: &str| {
        !matches!(part, "" | "." | "..") && part.len() <= NAME_MAX && !part.contains('\0')
    };
    path.split('/').all(fit).then_some(path)
}

/// The inode number of a presented file. `name_in_mount` is its name in the version directory,
/// with the directories of the layout or the raw view before it.
///
/// Bit 63 is set and bit 62 clear, so it never meets the inode number of a directory, which is
/// below 2^63.
pub fn inode_of(name_in_mount: &str) -> u64 {
    let hash = stable_hash64("deltafs inode v1", &[name_in_mount.as_bytes()]);
    (hash | 1 << 63) & !(1 << 62)
}
