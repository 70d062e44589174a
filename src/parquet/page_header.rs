//! Page headers: `PageHeader` of the format, read and written. Whether what one claims can be is
//! looked at elsewhere ([`check_pages`](super::check_pages)).

use super::format::page_type;
use super::thrift::{Damage, Kind, Reader, write_struct};

/// What a page is, by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    Dictionary(DictionaryPage),
    V1(PageV1),
    V2(PageV2),
    /// Another one, or one without the header of its kind.
    Other,
}

/// `DictionaryPageHeader`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DictionaryPage {
    pub(super) values: usize,
    pub(super) encoding: i32,
}

/// `DataPageHeader`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PageV1 {
    pub(super) entries: usize,
    pub(super) encoding: i32,
    pub(super) definition_encoding: i32,
    pub(super) repetition_encoding: i32,
}

/// `DataPageHeaderV2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageV2 {
    pub(super) entries: usize,
    pub(super) nulls: usize,
    pub(super) rows: usize,
    pub(super) encoding: i32,
    pub(super) definition_length: usize,
    pub(super) repetition_length: usize,
    pub(super) is_compressed: bool,
}

/// A page header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// The size of the header itself, bytes.
    pub(super) length: usize,
    /// The size of the page, bytes.
    pub(super) compressed: usize,
    /// What it is without compression, bytes.
    pub(super) uncompressed: usize,
    pub(super) kind: PageKind,
}

impl Header {
    /// Reads the header that `bytes` start with. An error is a clause.
    pub(super) fn read(bytes: &[u8]) -> Result<Header, String> {
        Header::parse(bytes).map_err(|Damage(problem)| format!("a page header: {problem}"))
    }

    fn parse(bytes: &[u8]) -> Result<Header, Damage> {
        let mut reader = Reader::new(bytes);
        let (mut number, mut compressed, mut uncompressed) = (-1, 0, 0);
        let mut kinds = [PageKind::Other; 3];
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            match (field.id, field.kind) {
                (1, Kind::I32) => number = reader.i32()?,
                (2, Kind::I32) => uncompressed = size(&mut reader)?,
                (3, Kind::I32) => compressed = size(&mut reader)?,
                (5, Kind::Struct) => kinds[0] = PageKind::V1(read_v1(&mut reader)?),
                (7, Kind::Struct) => kinds[1] = PageKind::Dictionary(read_dictionary(&mut reader)?),
                (8, Kind::Struct) => kinds[2] = PageKind::V2(read_v2(&mut reader)?),
                _ => reader.skip(field)?,
            }
        }
        Ok(Header {
            length: bytes.len() - reader.remaining(),
            compressed,
            uncompressed,
            kind: match number {
                page_type::DATA => kinds[0],
                page_type::DICTIONARY => kinds[1],
                page_type::DATA_V2 => kinds[2],
                _ => PageKind::Other,
            },
        })
    }

    /// Appends the header of a page, without statistics and without a checksum. Its sizes are
    /// those of a page, below 2^31.
    pub(super) fn write(kind: PageKind, compressed: usize, uncompressed: usize, out: &mut Vec<u8>) {
        let number = match kind {
            PageKind::Dictionary(_) => page_type::DICTIONARY,
            PageKind::V2(_) => page_type::DATA_V2,
            PageKind::V1(_) | PageKind::Other => page_type::DATA,
        };
        write_struct(out, |fields| {
            fields.i32(1, number);
            fields.i32(2, uncompressed as i32);
            fields.i32(3, compressed as i32);
            match kind {
                PageKind::V1(page) => fields.structure(5, |fields| {
                    fields.i32(1, page.entries as i32);
                    fields.i32(2, page.encoding);
                    fields.i32(3, page.definition_encoding);
                    fields.i32(4, page.repetition_encoding);
                }),
                PageKind::Dictionary(page) => fields.structure(7, |fields| {
                    fields.i32(1, page.values as i32);
                    fields.i32(2, page.encoding);
                }),
                PageKind::V2(page) => fields.structure(8, |fields| {
                    fields.i32(1, page.entries as i32);
                    fields.i32(2, page.nulls as i32);
                    fields.i32(3, page.rows as i32);
                    fields.i32(4, page.encoding);
                    fields.i32(5, page.definition_length as i32);
                    fields.i32(6, page.repetition_length as i32);
                    fields.bool(7, page.is_compressed);
                }),
                PageKind::Other => {}
            }
        });
    }
}

fn read_v1(reader: &mut Reader<'_>) -> Result<PageV1, Damage> {
    let mut page = PageV1::default();
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        match (field.id, field.kind) {
            (1, Kind::I32) => page.entries = size(reader)?,
            (2, Kind::I32) => page.encoding = reader.i32()?,
            (3, Kind::I32) => page.definition_encoding = reader.i32()?,
            (4, Kind::I32) => page.repetition_encoding = reader.i32()?,
            _ => reader.skip(field)?,
        }
    }
    Ok(page)
}

fn read_dictionary(reader: &mut Reader<'_>) -> Result<DictionaryPage, Damage> {
    let mut page = DictionaryPage::default();
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        match (field.id, field.kind) {
            (1, Kind::I32) => page.values = size(reader)?,
            (2, Kind::I32) => page.encoding = reader.i32()?,
            _ => reader.skip(field)?,
        }
    }
    Ok(page)
}

fn read_v2(reader: &mut Reader<'_>) -> Result<PageV2, Damage> {
    let mut page = PageV2 {
        entries: 0,
        nulls: 0,
        rows: 0,
        encoding: 0,
        definition_length: 0,
        repetition_length: 0,
        is_compressed: true,
    };
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        match (field.id, field.kind) {
            (1, Kind::I32) => page.entries = size(reader)?,
            (2, Kind::I32) => page.nulls = size(reader)?,
            (3, Kind::I32) => page.rows = size(reader)?,
            (4, Kind::I32) => page.encoding = reader.i32()?,
            (5, Kind::I32) => page.definition_length = size(reader)?,
            (6, Kind::I32) => page.repetition_length = size(reader)?,
            (7, Kind::True | Kind::False) => page.is_compressed = field.bool("is_compressed")?,
            _ => reader.skip(field)?,
        }
    }
    Ok(page)
}

/// A number that counts something.
fn size(reader: &mut Reader<'_>) -> Result<usize, Damage> {
    let number = reader.i32()?;
    usize::try_from(number).map_err(|_| Damage(format!("a size in it is {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet::format::encoding::{PLAIN, RLE};

    #[test]
    fn headers_come_back() {
        let kinds = [
            PageKind::V1(PageV1 {
                entries: 70_000,
                encoding: 8,
                definition_encoding: RLE,
                repetition_encoding: 4,
            }),
            PageKind::V2(PageV2 {
                entries: 5,
                nulls: 2,
                rows: 3,
                encoding: PLAIN,
                definition_length: 300,
                repetition_length: 1,
                is_compressed: false,
            }),
            PageKind::Dictionary(DictionaryPage {
                values: 9,
                encoding: 2,
            }),
        ];
        for kind in kinds {
            let mut bytes = Vec::new();
            Header::write(kind, 100, 2_000, &mut bytes);
            let length = bytes.len();
            bytes.extend(b"page");
            let found = Header {
                length,
                compressed: 100,
                uncompressed: 2_000,
                kind,
            };
            assert_eq!(Header::read(&bytes), Ok(found));
            assert!(Header::read(&bytes[..length - 1]).is_err());
        }
    }
}
