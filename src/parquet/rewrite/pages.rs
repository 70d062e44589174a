//! Pages of a column chunk, decompressed: whether they claim more than they hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::parquet::basic::Encoding;
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::ParquetError as DecodeError;
use ::parquet::file::reader::SerializedPageReader;
use bytes::Bytes;

use super::delta;

/// Pages, each checked before it is decoded. Those without entries, which pyarrow writes where it
/// gives up a dictionary, are left out: the decoder takes what comes before the last page for a
/// record that goes on.
pub(super) struct CheckedPages {
    pub(super) pages: SerializedPageReader<Bytes>,
    /// Values and nulls that the chunk may still have.
    pub(super) entries_left: u64,
    /// The highest definition and repetition level.
    pub(super) max_levels: (i16, i16),
    /// The length of each value, where the type has a fixed number of bytes; else 0.
    pub(super) fixed_length: u32,
    pub(super) has_dictionary: bool,
    /// How many bytes of values may still come of prefixes.
    pub(super) decoded_left: u64,
    /// Whether the last data page did not refer to the dictionary.
    pub(super) plain: Arc<AtomicBool>,
}

impl CheckedPages {
    /// The decoder reserves room for values of fixed length by their number, before it looks whether
    /// they are there.
    fn check_streams(&self, values: &[u8], entries: u32) -> Result<(), String> {
        let room = u64::from(entries) * u64::from(self.fixed_length);
        if room > MAX_STREAMS.max(values.len() as u64) {
            return Err(format!(
                "a page has {} bytes of values, but claims {entries} of {} bytes each",
                values.len(),
                self.fixed_length
            ));
        }
        Ok(())
    }

    fn check(&mut self, page: &Page) -> Result<(), String> {
        let (values, entries, encoding) = match page {
            Page::DictionaryPage { .. } => {
                self.has_dictionary = true;
                return Ok(());
            }
            Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let entries = *num_values;
                let (definition, repetition) = self.max_levels;
                let start = v1_levels(buf, 0, repetition, entries, *rep_level_encoding)?;
                let start = v1_levels(buf, start, definition, entries, *def_level_encoding)?;
                (buf.get(start..), entries, *encoding)
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                let start = usize::try_from(levels).unwrap_or(usize::MAX);
                (buf.get(start..), *num_values, *encoding)
            }
        };
        let values = values.ok_or("the levels of a page are longer than the page")?;
        self.entries_left = self
            .entries_left
            .checked_sub(entries.into())
            .ok_or("its pages have more values than the footer says")?;
        let refers = matches!(
            encoding,
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY
        );
        self.plain.store(!refers, Ordering::Relaxed);
        match encoding {
            _ if refers && !self.has_dictionary => {
                Err("a page refers to a dictionary that does not come before it".to_owned())
            }
            Encoding::BYTE_STREAM_SPLIT => self.check_streams(values, entries),
            Encoding::DELTA_LENGTH_BYTE_ARRAY => delta::check_lengths(values, entries),
            Encoding::DELTA_BYTE_ARRAY => {
                let decoded = delta::check_prefixes(values, entries)?;
                self.decoded_left = self.decoded_left.checked_sub(decoded).ok_or_else(|| {
                    format!(
                        "its values, which share prefixes, have more than {} bytes",
                        delta::MAX_DECODED
                    )
                })?;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// What the decoder of byte streams may reserve for the values of a page beyond the bytes that the
/// page has, bytes: pages of nearly nothing but nulls have few.
const MAX_STREAMS: u64 = 32 << 20;

/// Where the levels end that start at `start` of a page of version 1.
fn v1_levels(
    page: &[u8],
    start: usize,
    max: i16,
    entries: u32,
    encoding: Encoding,
) -> Result<usize, String> {
    if max == 0 {
        return Ok(start);
    }
    if encoding == Encoding::RLE {
        let length = page.get(start..).and_then(|rest| rest.first_chunk());
        let length = u32::from_le_bytes(*length.ok_or("a page ends before its levels")?);
        return Ok(start.saturating_add(4).saturating_add(length as usize));
    }
    // Bit-packed.
    let bits = u64::from(16 - max.leading_zeros());
    let length = (u64::from(entries) * bits).div_ceil(8);
    Ok(start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)))
}

impl Iterator for CheckedPages {
    type Item = Result<Page, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>, DecodeError> {
        while let Some(page) = self.pages.get_next_page()? {
            self.check(&page).map_err(DecodeError::General)?;
            let is_dictionary = matches!(page, Page::DictionaryPage { .. });
            if is_dictionary || page.num_values() > 0 {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, DecodeError> {
        while let Some(next) = self.pages.peek_next_page()? {
            if next.is_dict || next.num_levels != Some(0) {
                return Ok(Some(next));
            }
            self.pages.skip_next_page()?;
        }
        Ok(None)
    }

    fn skip_next_page(&mut self) -> Result<(), DecodeError> {
        Err(DecodeError::General("no page is skipped".to_owned()))
    }
}
