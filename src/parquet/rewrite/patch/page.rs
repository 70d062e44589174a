//! One data page: what lies where in it, and what it is without some of its entries.

use std::ops::Range;

use super::super::compressor::Compressor;
use super::bounds::KeptBounds;
use super::dictionary::Dictionary;
use super::hybrid;
use super::values::{PageValues, ValueEncoding, keep, write_sized};
use crate::parquet::format::encoding::RLE;
use crate::parquet::page_header::{Header, PageKind, PageV1, PageV2};

/// Buffers that are used for one page after the other.
#[derive(Default)]
pub(super) struct Buffers {
    /// The page, or its values, decompressed.
    content: Vec<u8>,
    /// Where levels and values lie, each in the page or in `content`.
    repetition_at: Range<usize>,
    definition_at: Range<usize>,
    values_at: Range<usize>,
    /// Levels, one a byte.
    pub(super) repetition: Vec<u8>,
    pub(super) definition: Vec<u8>,
    /// The entries, and the values, that stay.
    pub(super) stay: Vec<Range<usize>>,
    stay_values: Vec<Range<usize>>,
    numbers: Vec<u32>,
    plain: Vec<u8>,
    packed: Vec<u8>,
}

/// A data page.
#[derive(Clone, Copy)]
pub(super) struct DataPage<'a> {
    pub(super) header: Header,
    /// Without its header.
    pub(super) body: &'a [u8],
    pub(super) entries: usize,
    pub(super) encoding: ValueEncoding,
    /// The highest definition and repetition level.
    pub(super) max_levels: (u8, u8),
}

impl DataPage<'_> {
    /// Finds the levels, and the values if `with_values`. An error is a clause.
    pub(super) fn open(
        &self,
        with_values: bool,
        compressor: &mut Compressor,
        buffers: &mut Buffers,
    ) -> Result<(), String> {
        let (max_definition, max_repetition) = self.max_levels;
        match self.header.kind {
            PageKind::V2(page) => {
                let repetition_end = page.repetition_length;
                let definition_end = repetition_end.saturating_add(page.definition_length);
                let packed = self.body.get(definition_end..);
                let packed = packed.ok_or("the levels of a page are longer than the page")?;
                buffers.repetition_at = 0..repetition_end;
                buffers.definition_at = repetition_end..definition_end;
                let size = self.header.uncompressed.checked_sub(definition_end);
                let size = size.ok_or("the levels of a page are longer than the page")?;
                buffers.values_at = 0..size;
                match (with_values, size, page.is_compressed) {
                    (false, ..) => Ok(()),
                    // Some writers compress nothing to something.
                    (true, 0, _) => {
                        buffers.content.clear();
                        Ok(())
                    }
                    (true, _, true) => compressor.decompress(packed, size, &mut buffers.content),
                    (true, _, false) => {
                        Compressor::Uncompressed.decompress(packed, size, &mut buffers.content)
                    }
                }
            }
            _ => {
                let size = self.header.uncompressed;
                compressor.decompress(self.body, size, &mut buffers.content)?;
                let sized = |start: usize, max: u8| {
                    if max == 0 {
                        return Some(start..start);
                    }
                    let length = buffers.content.get(start..)?.first_chunk()?;
                    let from = start + 4;
                    let end = from.checked_add(u32::from_le_bytes(*length) as usize)?;
                    (end <= size).then_some(from..end)
                };
                let ends = "a page ends in its levels";
                let repetition_at = sized(0, max_repetition).ok_or(ends)?;
                let definition_at = sized(repetition_at.end, max_definition).ok_or(ends)?;
                buffers.values_at = definition_at.end..size;
                buffers.repetition_at = repetition_at;
                buffers.definition_at = definition_at;
                Ok(())
            }
        }
    }

    /// Reads the repetition levels of a page that is open.
    pub(super) fn read_repetition(&self, buffers: &mut Buffers) -> Result<(), String> {
        let at = buffers.repetition_at.clone();
        let levels = match self.header.kind {
            PageKind::V2(_) => &self.body[at],
            _ => &buffers.content[at],
        };
        let (_, max) = self.max_levels;
        read_levels(levels, max, self.entries, &mut buffers.repetition)
    }

    /// Reads the definition levels of a page that is open, and returns how many values there are.
    pub(super) fn read_definition(&self, buffers: &mut Buffers) -> Result<usize, String> {
        let at = buffers.definition_at.clone();
        let levels = match self.header.kind {
            PageKind::V2(_) => &self.body[at],
            _ => &buffers.content[at],
        };
        let (max, _) = self.max_levels;
        if max == 0 {
            return Ok(self.entries);
        }
        read_levels(levels, max, self.entries, &mut buffers.definition)?;
        Ok(defined(&buffers.definition, max))
    }

    /// The values of a page that was opened with them.
    pub(super) fn values<'b>(&self, buffers: &'b Buffers) -> &'b [u8] {
        &buffers.content[buffers.values_at.clone()]
    }

    /// Appends the page with nothing but the entries of `buffers.stay`, unless there are none, to
    /// `out`. Its levels were read, and there are `values` of values. Returns how many entries
    /// stay, how many nulls go, and the size without compression. An error is a clause.
    pub(super) fn write_staying(
        &self,
        values: usize,
        dictionary: Option<&Dictionary>,
        kept: &mut KeptBounds<'_>,
        compressor: &mut Compressor,
        buffers: &mut Buffers,
        out: &mut Vec<u8>,
    ) -> Result<Staying, String> {
        let (max_definition, max_repetition) = self.max_levels;
        let entries: usize = buffers.stay.iter().map(Range::len).sum();
        if max_definition > 0 {
            stay_values(
                &buffers.stay,
                &buffers.definition,
                max_definition,
                &mut buffers.stay_values,
            );
            keep(&mut buffers.definition, &buffers.stay);
        } else {
            buffers.stay_values.clone_from(&buffers.stay);
        }
        if max_repetition > 0 {
            keep(&mut buffers.repetition, &buffers.stay);
        }
        let values_left: usize = buffers.stay_values.iter().map(Range::len).sum();
        let nulls_left = entries - values_left;
        let plain = &mut buffers.plain;
        plain.clear();
        let repetition_length = self.write_levels(&buffers.repetition, max_repetition, plain);
        let definition_length = self.write_levels(&buffers.definition, max_definition, plain);
        let levels_end = plain.len();
        let page_values = PageValues {
            bytes: &buffers.content[buffers.values_at.clone()],
            count: values,
            stay: &buffers.stay_values,
        };
        page_values.write(self.encoding, dictionary, kept, &mut buffers.numbers, plain)?;
        let staying = Staying {
            entries,
            nulls_gone: (self.entries - values) - nulls_left,
            uncompressed: plain.len(),
            header: 0,
        };
        if entries == 0 {
            return Ok(staying);
        }
        let kind = match self.header.kind {
            PageKind::V2(page) => {
                let starts = |levels: &[u8]| levels.iter().filter(|&&level| level == 0).count();
                PageKind::V2(PageV2 {
                    entries,
                    nulls: nulls_left,
                    rows: match max_repetition {
                        0 => entries,
                        _ => starts(&buffers.repetition),
                    },
                    repetition_length,
                    definition_length,
                    is_compressed: page.is_compressed && plain.len() > levels_end,
                    ..page
                })
            }
            PageKind::V1(page) => PageKind::V1(PageV1 { entries, ..page }),
            PageKind::Dictionary(_) | PageKind::Other => self.header.kind,
        };
        let packed = &mut buffers.packed;
        packed.clear();
        pack(kind, plain, levels_end, compressor, packed)?;
        let start = out.len();
        Header::write(kind, packed.len(), plain.len(), out);
        let header = out.len() - start;
        out.extend_from_slice(packed);
        Ok(Staying { header, ..staying })
    }

    /// Appends levels up to `max` as pages of this kind have them, and returns how many bytes these
    /// are.
    fn write_levels(&self, levels: &[u8], max: u8, out: &mut Vec<u8>) -> usize {
        if max == 0 {
            return 0;
        }
        let start = out.len();
        let write = |out: &mut Vec<u8>| hybrid::encode(levels, hybrid::width(max.into()), out);
        match self.header.kind {
            PageKind::V2(_) => write(out),
            _ => write_sized(out, write),
        }
        out.len() - start
    }
}

/// Appends `plain`, levels up to `levels_end` and values behind it, as a page of that kind has them.
/// An error is a clause.
fn pack(
    kind: PageKind,
    plain: &[u8],
    levels_end: usize,
    compressor: &mut Compressor,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let PageKind::V2(page) = kind else {
        return compressor.compress(plain, out);
    };
    let (levels, values) = plain.split_at(levels_end);
    out.extend_from_slice(levels);
    match page.is_compressed {
        true => compressor.compress(values, out),
        false => Compressor::Uncompressed.compress(values, out),
    }
}

/// What is left of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Staying {
    pub(super) entries: usize,
    pub(super) nulls_gone: usize,
    /// The size of the page without compression and of its header, bytes.
    pub(super) uncompressed: usize,
    pub(super) header: usize,
}

/// Whether the levels of a page are encoded in the way that is read here.
pub(super) fn has_known_levels(kind: &PageKind, (definition, repetition): (u8, u8)) -> bool {
    match kind {
        PageKind::V1(page) => {
            (definition == 0 || page.definition_encoding == RLE)
                && (repetition == 0 || page.repetition_encoding == RLE)
        }
        _ => true,
    }
}

fn read_levels(bytes: &[u8], max: u8, count: usize, into: &mut Vec<u8>) -> Result<(), String> {
    hybrid::decode(bytes, hybrid::width(max.into()), count, into)?;
    match into.iter().max() {
        Some(&level) if level > max => Err(format!("a level is {level} where {max} is the most")),
        _ => Ok(()),
    }
}

/// How many entries have a value.
fn defined(definition: &[u8], max: u8) -> usize {
    definition.iter().filter(|&&level| level == max).count()
}

/// Replaces what is in `into` by the values of the entries that stay.
fn stay_values(stay: &[Range<usize>], definition: &[u8], max: u8, into: &mut Vec<Range<usize>>) {
    into.clear();
    let (mut entry, mut value) = (0, 0);
    for range in stay {
        value += defined(&definition[entry..range.start], max);
        let first = value;
        value += defined(&definition[range.clone()], max);
        into.push(first..value);
        entry = range.end;
    }
}
