//! Pages of a column chunk: whether their headers claim more than such pages can hold, and whether
//! they are there at all. A decoder that believes a header reserves what it claims, and a
//! reservation that fails ends the process.

use bytes::Bytes;

use super::thrift::{Damage, Kind, Reader};

/// How much is read at once in search of headers.
const WINDOW: u64 = 4 * 1024;

/// The largest header: it may hold statistics.
const MAX_HEADER: u64 = 16 * 1024 * 1024;

/// The largest page, uncompressed, bytes. Writers make pages of a megabyte, and larger ones only
/// for values that are larger by themselves.
const MAX_PAGE: u64 = 256 * 1024 * 1024;

/// What every codec may need beside its rate of compression, bytes.
const SLACK: u64 = 64 * 1024;

/// What is known of a column chunk before its pages are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLimits {
    /// Size of the chunk, bytes.
    pub length: u64,
    /// How many bytes one compressed byte stands for at most.
    pub expansion: u64,
    /// Size of the smallest value in a dictionary, bytes, with its length where it has one.
    pub smallest_value: u64,
}

/// Looks at the headers of all pages of a column chunk. `read` gives bytes of the chunk, from an
/// offset within it on; what it answers and what is wrong with a page are clauses for an error.
pub fn check_pages(
    limits: ChunkLimits,
    read: impl FnMut(u64, usize) -> Result<Bytes, String>,
) -> Result<(), String> {
    page_encodings(limits, read, drop)
}

/// [`check_pages`], and gives `data_page` the encoding of each data page by its number in the format
/// (`Encoding`).
pub(super) fn page_encodings(
    limits: ChunkLimits,
    read: impl FnMut(u64, usize) -> Result<Bytes, String>,
    mut data_page: impl FnMut(i32),
) -> Result<(), String> {
    each_page(limits.length, read, |header, at| {
        header
            .check(limits, limits.length - at)
            .map_err(|problem| format!("the page at {at} of its column chunk {problem}"))?;
        if let Some(encoding) = header.encoding {
            data_page(encoding);
        }
        Ok(true)
    })
}

/// Whether a column chunk of `length` bytes has data pages of `num_values` values, by the headers of
/// all pages. What is in a page is not looked at. `read` is as in [`check_pages`].
pub fn check_values(
    length: u64,
    num_values: u64,
    read: impl FnMut(u64, usize) -> Result<Bytes, String>,
) -> Result<(), String> {
    let mut found: u64 = 0;
    each_page(length, read, |header, at| {
        if !header.is_page {
            return Err(format!("at {at} of its column chunk is no page"));
        }
        if header.length + header.compressed > length - at {
            return Err(format!(
                "the page at {at} of its column chunk claims {} bytes, of which there are {}",
                header.length + header.compressed,
                length - at
            ));
        }
        found = found.saturating_add(header.data_values.unwrap_or(0));
        Ok(found < num_values)
    })?;
    match found == num_values {
        true => Ok(()),
        false => Err(format!(
            "its pages have {found} values, and the footer counts {num_values}"
        )),
    }
}

/// Gives `visit` the header of each page of a column chunk, with where it is in it, as long as it
/// says that more are wanted.
fn each_page(
    chunk: u64,
    mut read: impl FnMut(u64, usize) -> Result<Bytes, String>,
    mut visit: impl FnMut(&PageHeader, u64) -> Result<bool, String>,
) -> Result<(), String> {
    let mut at = 0;
    let mut window = (0, Bytes::new());
    while at < chunk {
        let mut wanted = WINDOW;
        let header = loop {
            let length = wanted.min(chunk - at);
            let (start, bytes) = &window;
            if at < *start || at + length > start + bytes.len() as u64 {
                // At most MAX_HEADER, so it fits.
                window = (at, read(at, length as usize)?);
            }
            let skipped = (at - window.0) as usize;
            match PageHeader::parse(window.1.get(skipped..).unwrap_or_default()) {
                Ok(header) => break header,
                Err(_) if length == wanted && wanted < MAX_HEADER => wanted *= 8,
                Err(Damage(problem)) => return Err(format!("the page header at {at}: {problem}")),
            }
        };
        if !visit(&header, at)? {
            break;
        }
        at += header.length + header.compressed;
    }
    Ok(())
}

/// The fields of a `PageHeader` that claim sizes, and how the values of a data page are encoded.
struct PageHeader {
    /// The size of the header itself, bytes.
    length: u64,
    uncompressed: u64,
    compressed: u64,
    dictionary_values: u64,
    encoding: Option<i32>,
    /// Values and nulls of a data page.
    data_values: Option<u64>,
    /// Whether it says what kind of page it is, which zeros do not.
    is_page: bool,
    /// Whether it says that its values are not compressed, although the chunk may be.
    is_plain: bool,
}

impl PageHeader {
    fn parse(bytes: &[u8]) -> Result<PageHeader, Damage> {
        let size = |number: i32| {
            u64::try_from(number).map_err(|_| Damage(format!("a size in it is {number}")))
        };
        let (mut uncompressed, mut compressed, mut dictionary_values) = (0, 0, 0);
        let (mut encoding, mut data_values) = (None, None);
        let (mut is_page, mut is_plain) = (false, false);
        let mut reader = Reader::new(bytes);
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            match field.id {
                1 => {
                    field.expect(Kind::I32, "type")?;
                    is_page = true;
                    reader.i32()?;
                }
                2 => {
                    field.expect(Kind::I32, "uncompressed_page_size")?;
                    uncompressed = size(reader.i32()?)?;
                }
                3 => {
                    field.expect(Kind::I32, "compressed_page_size")?;
                    compressed = size(reader.i32()?)?;
                }
                5 | 8 => {
                    field.expect(Kind::Struct, "data_page_header")?;
                    let is_v2 = field.id == 8;
                    let encoding_id = if is_v2 { 4 } else { 2 };
                    let mut last = 0;
                    while let Some(field) = reader.field(&mut last)? {
                        if field.id == encoding_id {
                            field.expect(Kind::I32, "encoding")?;
                            encoding = Some(reader.i32()?);
                        } else if field.id == 1 {
                            field.expect(Kind::I32, "num_values")?;
                            data_values = Some(size(reader.i32()?)?);
                        } else if is_v2 && field.id == 7 {
                            is_plain = !field.bool("is_compressed")?;
                        } else {
                            reader.skip(field)?;
                        }
                    }
                }
                7 => {
                    field.expect(Kind::Struct, "dictionary_page_header")?;
                    let mut last = 0;
                    while let Some(field) = reader.field(&mut last)? {
                        if field.id == 1 {
                            field.expect(Kind::I32, "num_values")?;
                            dictionary_values = size(reader.i32()?)?;
                        } else {
                            reader.skip(field)?;
                        }
                    }
                }
                _ => reader.skip(field)?,
            }
        }
        Ok(PageHeader {
            length: (bytes.len() - reader.remaining()) as u64,
            uncompressed,
            compressed,
            dictionary_values,
            encoding,
            data_values,
            is_page,
            is_plain,
        })
    }

    /// `left` is what is left of the chunk from the header on.
    fn check(&self, limits: ChunkLimits, left: u64) -> Result<(), String> {
        if self.length + self.compressed > left {
            return Err(format!(
                "claims {} bytes, of which the chunk has {left} left",
                self.length + self.compressed
            ));
        }
        // Arrow C++ before 2.0 says so of pages that it compressed: decoding would make other values.
        if self.is_plain && self.compressed != self.uncompressed {
            return Err(format!(
                "says that it is not compressed, and takes {} bytes for {}",
                self.compressed, self.uncompressed
            ));
        }
        let most = (self.compressed.saturating_mul(limits.expansion)).saturating_add(SLACK);
        if self.uncompressed > most.min(MAX_PAGE) {
            return Err(format!(
                "claims {} bytes uncompressed, more than its {} compressed ones can hold or \
                 {MAX_PAGE}",
                self.uncompressed, self.compressed
            ));
        }
        if self.dictionary_values.saturating_mul(limits.smallest_value) > self.uncompressed {
            return Err(format!(
                "claims a dictionary of {} values in {} bytes",
                self.dictionary_values, self.uncompressed
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thrift's compact form of a field of 32 bits, right behind the one before.
    fn i32_field(number: i32) -> Vec<u8> {
        let mut bytes = vec![0x15];
        let mut left = ((number << 1) ^ (number >> 31)).cast_unsigned();
        while left >= 0x80 {
            bytes.push((left & 0x7f) as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
        bytes
    }

    /// A dictionary page and its bytes.
    fn dictionary(uncompressed: i32, compressed: i32, values: i32, bytes: usize) -> Vec<u8> {
        let mut page = i32_field(2);
        page.extend(i32_field(uncompressed));
        page.extend(i32_field(compressed));
        page.push(0x4c);
        page.extend(i32_field(values));
        page.extend(i32_field(0));
        page.extend([0, 0]);
        page.extend(vec![0; bytes]);
        page
    }

    fn check(chunk: &[u8], expansion: u64) -> Result<(), String> {
        let limits = ChunkLimits {
            length: chunk.len() as u64,
            expansion,
            smallest_value: 4,
        };
        check_pages(limits, |at, length| {
            let start = at as usize;
            Ok(Bytes::copy_from_slice(&chunk[start..start + length]))
        })
    }

    #[test]
    fn pages_that_hold_what_they_claim_pass() {
        let page = dictionary(400, 400, 100, 400);
        assert_eq!(check(&page, 1), Ok(()));
        assert_eq!(check(&page.repeat(1_000), 1), Ok(()));
        assert_eq!(check(&[], 1), Ok(()));
        let packed = dictionary(1_000_000, 100_000, 250_000, 100_000);
        assert_eq!(check(&packed, 10), Ok(()));
    }

    #[test]
    fn claims_beyond_the_bytes_are_refused() {
        for (page, expansion, problem) in [
            (dictionary(400, 401, 100, 400), 1, "claims 417 bytes"),
            (dictionary(i32::MAX, 400, 100, 400), 20, "uncompressed"),
            (
                dictionary(i32::MAX, 400, 100, 400),
                u64::MAX,
                "uncompressed",
            ),
            (dictionary(400, 400, 101, 400), 1, "101 values in 400 bytes"),
            (dictionary(400, 400, i32::MAX, 400), 1, "dictionary"),
            (dictionary(400, 400, -1, 400), 1, "a size in it is -1"),
            (dictionary(-400, 400, 1, 400), 1, "a size in it is -400"),
        ] {
            let found = check(&page, expansion).expect_err(problem);
            assert!(found.contains(problem), "{found}");
        }
    }

    #[test]
    fn a_header_that_is_none_is_refused() {
        assert!(check(&[0x15], 1).is_err());
        assert!(check(&[0xff; 100], 1).is_err());
        // It goes on for ever: a text of a gigabyte.
        let endless = [vec![0x18, 0x80, 0x80, 0x80, 0x80, 0x04], vec![b'x'; 50_000]].concat();
        assert!(check(&endless, 1).is_err());
    }

    #[test]
    fn a_header_larger_than_the_window_is_read_whole() {
        let mut page = dictionary(400, 400, 100, 0);
        page.pop();
        // Statistics, in a field of another struct.
        page.push(0x1c);
        page.push(0x88);
        page.extend([0xa0, 0x8d, 0x06]);
        page.extend(vec![b'x'; 100_000]);
        page.extend([0, 0]);
        page.extend(vec![0; 400]);
        assert_eq!(check(&page, 1), Ok(()));
    }

    /// A data page of the first version, whose values take `bytes`.
    fn data(values: i32, bytes: usize) -> Vec<u8> {
        let mut page = i32_field(0);
        let size = i32::try_from(bytes).unwrap();
        page.extend(i32_field(size));
        page.extend(i32_field(size));
        page.push(0x2c);
        for number in [values, 0, 3, 3] {
            page.extend(i32_field(number));
        }
        page.extend([0, 0]);
        page.extend(vec![0; bytes]);
        page
    }

    /// A data page of the second version.
    fn second(uncompressed: i32, compressed: i32, is_compressed: Option<bool>) -> Vec<u8> {
        let mut page = i32_field(3);
        page.extend(i32_field(uncompressed));
        page.extend(i32_field(compressed));
        page.push(0x5c);
        for number in [7, 0, 7, 0, 0, 0] {
            page.extend(i32_field(number));
        }
        page.extend(is_compressed.map(|is| if is { 0x11 } else { 0x12 }));
        page.extend([0, 0]);
        page.extend(vec![0; compressed as usize]);
        page
    }

    /// ARROW-10353.
    #[test]
    fn a_page_that_is_compressed_and_says_otherwise_is_refused() {
        for (uncompressed, compressed, is_compressed) in [
            (400, 400, Some(false)),
            (400, 300, Some(true)),
            (400, 300, None),
        ] {
            let page = second(uncompressed, compressed, is_compressed);
            assert_eq!(check(&page, 10), Ok(()), "{is_compressed:?}");
        }
        for compressed in [300, 404] {
            let found = check(&second(400, compressed, Some(false)), 10).unwrap_err();
            assert!(found.contains("not compressed"), "{found}");
        }
    }

    #[test]
    fn pages_that_are_not_there_are_missed() {
        let check = |chunk: &[u8], num_values| {
            check_values(chunk.len() as u64, num_values, |at, length| {
                let start = at as usize;
                Ok(Bytes::copy_from_slice(&chunk[start..start + length]))
            })
        };
        let pages = [dictionary(40, 40, 10, 40), data(7, 400), data(5, 3)].concat();
        assert_eq!(check(&pages, 12), Ok(()));
        assert_eq!(check(&[], 0), Ok(()));
        let behind = [pages.clone(), vec![0; 9]].concat();
        assert_eq!(
            check(&behind, 12),
            Ok(()),
            "nobody looks behind the last one"
        );

        let mut hole = pages.clone();
        hole[60..].fill(0);
        let shifted = [&[0; 3][..], &pages[..pages.len() - 3]].concat();
        let cut = &pages[..pages.len() - 1];
        for (chunk, num_values, problem) in [
            (&hole[..], 12, "is no page"),
            (&shifted[..], 12, "is no page"),
            (cut, 12, "claims 20 bytes, of which there are 19"),
            (&pages[..], 13, "12 values, and the footer counts 13"),
            (&pages[..], 11, "12 values, and the footer counts 11"),
            (&[], 1, "0 values"),
            (&vec![0; 1 << 20], 1, "is no page"),
        ] {
            let found = check(chunk, num_values).unwrap_err();
            assert!(found.contains(problem), "{found}");
        }
    }
}
