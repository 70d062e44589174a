//! Leaving rows out page by page: pages of which no row goes stay as they are, and of the others
//! the runs of values between rows that go are copied.
//!
//! Not every chunk is made so that this can be done, and what this finds to be damaged is left to
//! the decoder, which says what is wrong: in all these cases the chunk is not patched. Which it is
//! depends on its bytes alone.

mod bounds;
mod dictionary;
mod hybrid;
mod page;
mod statistics;
mod values;

use std::iter::Peekable;

use bytes::Bytes;
use roaring::RoaringBitmap;

use super::bounds::Order;
use super::compressor::Compressor;
use super::{MAX_MADE, SourceChunk, codec};
use crate::parquet::format::encoding::{PLAIN, PLAIN_DICTIONARY, RLE};
use crate::parquet::page_header::{DictionaryPage, Header, PageKind};
use crate::parquet::{MadeChunk, PhysicalType};
use bounds::KeptBounds;
use dictionary::Dictionary;
use page::{Buffers, DataPage, has_known_levels};
use values::ValueEncoding;

pub use bounds::SourceStatistics;

/// The most values and nulls of a page, which a few bytes can claim any number of. Writers make
/// pages of some thousands, and of a million where they take no room.
const MAX_ENTRIES: usize = 1 << 24;

/// Why a chunk is not patched. A clause.
pub(super) type Declined = String;

/// Makes a chunk of `source`, whose bytes are `chunk`, without the rows in `deleted`. The headers
/// of its pages were checked.
pub(super) fn patch_chunk(
    source: &SourceChunk<'_>,
    chunk: &Bytes,
    deleted: &RoaringBitmap,
) -> Result<MadeChunk, Declined> {
    let mut patch = Patch::new(source, chunk, deleted)?;
    let mut buffers = Buffers::default();
    let mut at = 0;
    while let Some(rest) = chunk.get(at..).filter(|rest| !rest.is_empty()) {
        let header = Header::read(rest)?;
        let length = header.length.saturating_add(header.compressed);
        let page = rest
            .get(..length)
            .ok_or("a page is longer than its chunk")?;
        match header.kind {
            PageKind::Dictionary(dictionary) => patch.dictionary_page(header, dictionary, page)?,
            PageKind::V1(v1) => {
                patch.data_page(header, v1.entries, v1.encoding, page, &mut buffers)?
            }
            PageKind::V2(v2) => {
                patch.data_page(header, v2.entries, v2.encoding, page, &mut buffers)?
            }
            PageKind::Other => return Err("it has pages of other kinds".to_owned()),
        }
        if patch.out.len() as u64 > MAX_MADE {
            return Err("it becomes too large".to_owned());
        }
        at += length;
    }
    patch.finish()
}

/// The size of the page that `bytes` start with, with its header.
#[cfg(test)]
pub(super) fn page_length(bytes: &[u8]) -> Result<usize, Declined> {
    Header::read(bytes).map(|header| header.length + header.compressed)
}

/// A chunk that is being patched.
struct Patch<'a> {
    source: &'a SourceChunk<'a>,
    max_levels: (u8, u8),
    compressor: Compressor,
    /// The rows that go and have not been come to.
    deleted: Peekable<roaring::bitmap::Iter<'a>>,
    /// Whether the last row goes: its entries may lie in more than one page.
    row_goes: bool,
    /// What was come to so far. Nulls are those of repeated leaves.
    rows: u64,
    rows_left: u64,
    entries: u64,
    nulls: u64,
    entries_left: u64,
    nulls_gone: u64,
    bounds: KeptBounds<'a>,
    dictionary_page: Option<(Header, DictionaryPage, &'a [u8])>,
    dictionary: Option<Dictionary>,
    /// Whether a page that stays refers to the dictionary.
    refers: bool,
    out: Vec<u8>,
    uncompressed: u64,
    encodings: Vec<i32>,
}

impl<'a> Patch<'a> {
    fn new(
        source: &'a SourceChunk<'a>,
        chunk: &Bytes,
        deleted: &'a RoaringBitmap,
    ) -> Result<Patch<'a>, Declined> {
        let shape = &source.shape;
        let compressor =
            Compressor::of(shape.codec).filter(|_| codec::made_codec(shape.codec) == shape.codec);
        let compressor = compressor.ok_or("its codec is not written")?;
        let (Ok(definition), Ok(repetition)) = (
            u8::try_from(shape.max_definition),
            u8::try_from(shape.max_repetition),
        ) else {
            return Err("it is nested too deeply".to_owned());
        };
        if u32::try_from(shape.rows).is_err() {
            return Err("it has too many rows".to_owned());
        }
        if shape.physical == PhysicalType::FixedLenByteArray(0) {
            return Err("its values have no bytes".to_owned());
        }
        let order = Order::of(shape.physical, shape.annotation);
        Ok(Patch {
            source,
            max_levels: (definition, repetition),
            compressor,
            deleted: deleted.iter().peekable(),
            row_goes: false,
            rows: 0,
            rows_left: 0,
            entries: 0,
            nulls: 0,
            entries_left: 0,
            nulls_gone: 0,
            bounds: KeptBounds::new(shape.physical, order, source.statistics.bounds),
            dictionary_page: None,
            dictionary: None,
            refers: false,
            out: Vec::with_capacity(chunk.len()),
            uncompressed: 0,
            encodings: Vec::new(),
        })
    }

    /// `page` is that with its header.
    fn copy(&mut self, header: Header, page: &[u8]) {
        self.out.extend_from_slice(page);
        self.uncompressed += (header.length + header.uncompressed) as u64;
    }

    fn dictionary_page(
        &mut self,
        header: Header,
        dictionary: DictionaryPage,
        page: &'a [u8],
    ) -> Result<(), Declined> {
        let is_known = [PLAIN, PLAIN_DICTIONARY].contains(&dictionary.encoding);
        let is_first = self.entries == 0 && self.dictionary_page.is_none();
        if !is_known || !is_first || self.source.shape.physical == PhysicalType::Boolean {
            return Err("its dictionary is not as the format has it".to_owned());
        }
        self.dictionary_page = Some((header, dictionary, &page[header.length..]));
        self.copy(header, page);
        Ok(())
    }

    /// Looks at the dictionary, once.
    fn read_dictionary(&mut self) -> Result<(), Declined> {
        if self.dictionary.is_some() {
            return Ok(());
        }
        let page = self.dictionary_page.as_ref();
        let (header, dictionary, body) =
            page.ok_or("it has no dictionary that its pages refer to")?;
        let mut content = Vec::new();
        self.compressor
            .decompress(body, header.uncompressed, &mut content)?;
        let physical = self.source.shape.physical;
        self.dictionary = Some(Dictionary::new(
            &content,
            dictionary.values,
            physical,
            &mut self.bounds,
        )?);
        Ok(())
    }

    fn data_page(
        &mut self,
        header: Header,
        entries: usize,
        encoding: i32,
        page: &'a [u8],
        buffers: &mut Buffers,
    ) -> Result<(), Declined> {
        let encoding_number = encoding;
        let encoding = ValueEncoding::of(encoding, self.source.shape.physical)
            .filter(|_| has_known_levels(&header.kind, self.max_levels))
            .ok_or("its pages are encoded in other ways")?;
        if encoding == ValueEncoding::Indices && self.dictionary_page.is_none() {
            return Err("it has no dictionary that its pages refer to".to_owned());
        }
        self.entries += entries as u64;
        if entries > MAX_ENTRIES || self.entries > self.source.shape.num_values {
            return Err("a page has too many values".to_owned());
        }
        if entries == 0 {
            return Ok(());
        }
        let data = DataPage {
            header,
            body: &page[header.length..],
            entries,
            encoding,
            max_levels: self.max_levels,
        };
        let is_repeated = self.max_levels.1 > 0;
        let has_values = self.pass(&data, buffers)?;
        let is_whole = buffers.stay.len() == 1 && buffers.stay[0] == (0..entries);
        if encoding == ValueEncoding::Indices && (!is_whole || self.bounds.minds_nan()) {
            self.read_dictionary()?;
        }
        let looks = matches!(encoding, ValueEncoding::Fixed(_)) && self.bounds.minds_nan();
        if !has_values && (!is_whole || looks) {
            data.open(true, &mut self.compressor, buffers)?;
        }
        let mut values = 0;
        if is_repeated || !is_whole {
            values = data.read_definition(buffers)?;
            self.nulls += (entries - values) as u64;
        }
        if is_whole {
            if let ValueEncoding::Fixed(width) = encoding
                && looks
                && bounds::has_nan(data.values(buffers), width)
            {
                self.bounds.forget();
            }
            self.copy(header, page);
            self.entries_left += entries as u64;
        } else {
            let staying = data.write_staying(
                values,
                self.dictionary.as_ref(),
                &mut self.bounds,
                &mut self.compressor,
                buffers,
                &mut self.out,
            )?;
            self.nulls_gone += staying.nulls_gone as u64;
            self.entries_left += staying.entries as u64;
            if staying.entries == 0 {
                return Ok(());
            }
            self.uncompressed += (staying.header + staying.uncompressed) as u64;
        }
        self.refers |= encoding == ValueEncoding::Indices;
        if !self.encodings.contains(&encoding_number) {
            self.encodings.push(encoding_number);
        }
        Ok(())
    }

    /// Notes in `buffers` which entries of a page stay. Returns whether it was opened with its values
    /// for that.
    fn pass(&mut self, data: &DataPage<'_>, buffers: &mut Buffers) -> Result<bool, Declined> {
        let mut has_values = false;
        if self.max_levels.1 > 0 {
            data.open(false, &mut self.compressor, buffers)?;
            // All of a page of version 1 is decompressed at once.
            has_values = matches!(data.header.kind, PageKind::V1(_));
            data.read_repetition(buffers)?;
            self.pass_records(buffers)?;
        } else {
            self.pass_rows(data.entries, buffers);
        }
        if self.rows > self.source.shape.rows {
            return Err("it has more rows than the footer says".to_owned());
        }
        Ok(has_values)
    }

    /// Notes in `buffers` which of the next rows, each of which is an entry, stay.
    fn pass_rows(&mut self, rows: usize, buffers: &mut Buffers) {
        let stay = &mut buffers.stay;
        stay.clear();
        let first = self.rows;
        self.rows += rows as u64;
        let mut from = 0;
        while let Some(row) = self.deleted.next_if(|&row| u64::from(row) < self.rows) {
            // At least `first`: what comes before was passed.
            let at = (u64::from(row) - first) as usize;
            if from < at {
                stay.push(from..at);
            }
            from = at + 1;
        }
        if from < rows {
            stay.push(from..rows);
        }
        self.rows_left += stay.iter().map(|range| range.len() as u64).sum::<u64>();
    }

    /// Notes in `buffers` which entries are of rows that stay.
    fn pass_records(&mut self, buffers: &mut Buffers) -> Result<(), Declined> {
        let stay = &mut buffers.stay;
        stay.clear();
        let levels = &buffers.repetition;
        if self.rows == 0 && levels.first() != Some(&0) {
            return Err("its first row starts in the middle of a list".to_owned());
        }
        let mut from = 0;
        for (entry, _) in levels.iter().enumerate().filter(|&(_, &level)| level == 0) {
            let row = self.rows;
            self.rows += 1;
            let goes = self.deleted.next_if(|&gone| u64::from(gone) <= row);
            self.rows_left += u64::from(goes.is_none());
            if goes.is_some() == self.row_goes {
                continue;
            }
            self.row_goes = goes.is_some();
            if !self.row_goes {
                from = entry;
            } else if from < entry {
                stay.push(from..entry);
            }
        }
        if !self.row_goes {
            stay.push(from..levels.len());
        }
        Ok(())
    }

    fn finish(mut self) -> Result<MadeChunk, Declined> {
        let shape = &self.source.shape;
        if self.rows != shape.rows || self.entries != shape.num_values {
            return Err("it has other than as many values as the footer says".to_owned());
        }
        if self.entries_left == 0 {
            return Err("nothing of it stays".to_owned());
        }
        let mut dictionary_length = 0;
        if let Some((header, dictionary, body)) = self.dictionary_page {
            dictionary_length = header.length + body.len();
            if self.refers {
                self.encodings.push(dictionary.encoding);
            } else {
                self.out.drain(..dictionary_length);
                self.uncompressed -= (header.length + header.uncompressed) as u64;
            }
        }
        if self.max_levels != (0, 0) {
            self.encodings.push(RLE);
        }
        self.encodings.sort_unstable();
        self.encodings.dedup();
        let null_count = match self.max_levels {
            (0, _) => Some(0),
            (_, 0) => self.source.statistics.null_count.and_then(|nulls| {
                let nulls = nulls.checked_sub(self.nulls_gone)?;
                (nulls <= self.entries_left).then_some(nulls)
            }),
            _ => Some(self.nulls - self.nulls_gone),
        };
        let mut made = MadeChunk {
            bytes: Bytes::from(self.out),
            codec: shape.codec,
            encodings: self.encodings,
            num_values: self.entries_left,
            uncompressed_size: self.uncompressed,
            dictionary_page_at: self.refers.then_some(0),
            data_page_at: if self.refers {
                dictionary_length as u64
            } else {
                0
            },
            statistics: None,
            page_index: None,
        };
        let statistics =
            statistics::of(self.source, &made, self.rows_left, null_count, self.bounds)?;
        made.statistics = Some(statistics);
        Ok(made)
    }
}
