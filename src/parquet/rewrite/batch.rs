//! Some records of a column chunk: levels and values.

use roaring::RoaringBitmap;

/// Records that follow each other.
pub(super) struct Batch<V> {
    /// How many.
    pub(super) records: usize,
    /// Values and nulls.
    pub(super) entries: usize,
    /// The definition level of each entry; empty where the leaf has none.
    pub(super) definition: Vec<i16>,
    /// The repetition level of each entry; empty where the leaf has none. 0 starts a record.
    pub(super) repetition: Vec<i16>,
    /// The values of the entries with the highest definition level.
    pub(super) values: Vec<V>,
}

impl<V> Default for Batch<V> {
    fn default() -> Batch<V> {
        Batch {
            records: 0,
            entries: 0,
            definition: Vec::new(),
            repetition: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl<V> Batch<V> {
    /// Drops everything.
    pub(super) fn clear(&mut self) {
        self.records = 0;
        self.entries = 0;
        self.definition.clear();
        self.repetition.clear();
        self.values.clear();
    }

    /// Drops the records whose row is in `deleted`; `first_row` is that of the first record.
    pub(super) fn drop_rows(
        &mut self,
        first_row: u64,
        deleted: &RoaringBitmap,
        max_definition: i16,
    ) {
        let Some(stays) = staying(first_row, self.records, deleted) else {
            return;
        };
        let mut record = 0;
        let (mut to, mut value_to, mut value_from) = (0, 0, 0);
        let mut stay = false;
        let mut records = 0;
        for from in 0..self.entries {
            if self.repetition.get(from).is_none_or(|&level| level == 0) {
                stay = stays[record];
                record += 1;
                records += usize::from(stay);
            }
            let has_value = self
                .definition
                .get(from)
                .is_none_or(|&level| level == max_definition);
            if stay {
                if let Some(&level) = self.definition.get(from) {
                    self.definition[to] = level;
                }
                if let Some(&level) = self.repetition.get(from) {
                    self.repetition[to] = level;
                }
                to += 1;
                if has_value {
                    self.values.swap(value_to, value_from);
                    value_to += 1;
                }
            }
            value_from += usize::from(has_value);
        }
        self.records = records;
        self.entries = to;
        self.definition.truncate(to);
        self.repetition.truncate(to);
        self.values.truncate(value_to);
    }

    /// The row, within the row group, of the value at a position. The batch started at `first_row`
    /// before rows were dropped.
    pub(super) fn row_of_value(
        &self,
        at: usize,
        first_row: u64,
        deleted: &RoaringBitmap,
        max_definition: i16,
    ) -> u64 {
        let (mut record, mut values) = (0, 0);
        for entry in 0..self.entries {
            if self.repetition.get(entry).is_none_or(|&level| level == 0) {
                record += 1;
            }
            let level = self.definition.get(entry);
            if level.is_none_or(|&level| level == max_definition) {
                if values == at {
                    break;
                }
                values += 1;
            }
        }
        let mut row = first_row;
        loop {
            let gone = u32::try_from(row).is_ok_and(|row| deleted.contains(row));
            if !gone {
                if record <= 1 {
                    return row;
                }
                record -= 1;
            }
            row += 1;
        }
    }

    /// Makes the entries those of a struct that the leaf lies in: none repeats more than
    /// `repetition` says, and none is defined more than `definition` says.
    pub(super) fn cap_levels(&mut self, definition: i16, repetition: i16) {
        if self.repetition.iter().any(|&level| level > repetition) {
            let mut to = 0;
            for from in 0..self.entries {
                if self.repetition[from] <= repetition {
                    self.repetition[to] = self.repetition[from];
                    if let Some(&level) = self.definition.get(from) {
                        self.definition[to] = level;
                    }
                    to += 1;
                }
            }
            self.entries = to;
            self.repetition.truncate(to);
            self.definition.truncate(to);
        }
        // A required leaf without lists has no levels: its struct is there once in every row.
        self.definition.resize(self.entries, definition);
        self.repetition.resize(self.entries, 0);
        for level in &mut self.definition {
            *level = (*level).min(definition);
        }
    }
}

/// Which of the records stay; `None` where all do.
fn staying(first_row: u64, records: usize, deleted: &RoaringBitmap) -> Option<Vec<bool>> {
    let first = u32::try_from(first_row).ok()?;
    let last = u32::try_from(first_row.saturating_add(records as u64)).unwrap_or(u32::MAX);
    let mut gone = deleted.range(first..=last).peekable();
    gone.peek()?;
    let mut stays = vec![true; records];
    for row in gone {
        // The range has one row more than there are records.
        if let Some(stay) = stays.get_mut((row - first) as usize) {
            *stay = false;
        }
    }
    Some(stays)
}
