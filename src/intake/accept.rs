//! Taking one staged file in.

mod make;

use std::collections::HashSet;

use arrow::array::{ArrayRef, new_null_array};

use super::batches::{self, Batch};
use super::columns::{Column, Differences, Matcher, Source, same_name};
use super::constraints::Rules;
use super::convert::{Names, arrow_type, is_stored};
use super::lengths::{self, Lengths};
use super::partition::{self, PartitionColumn};
use super::staged::Opened;
use super::{DataFile, IntakeError, Scratch, StagedFile, Target, calendar, nulls, statistics};
use crate::schema::StructField;

/// The data files that a staged file becomes: one, or one for each combination of partition values
/// in it; none where it has no rows.
///
/// Each row of them satisfies the table's schema, NOT NULL, CHECK constraints, invariants and
/// generation expressions. Whether appending or removing is allowed at all, and what else a commit
/// needs, is for the caller to see in the [`WriteRules`](crate::protocol::WriteRules).
pub fn accept(
    target: &Target<'_>,
    staged: &StagedFile,
    scratch: &dyn Scratch,
) -> Result<Vec<DataFile>, IntakeError> {
    let opened = Opened::open(staged)?;
    opened.check_single()?;
    let matcher = Matcher::new(
        &staged.name,
        target.shape.mapping,
        target.rules.variant_shredding,
    );
    let (columns, differences) = matcher.columns(&target.shape.schema, &opened.footer)?;
    let is_missing = |index: usize| matches!(columns[index].source, Source::Missing);
    let rules = Rules::compile(target, &|index| {
        let name = &columns[index].field.name;
        // What a directory says is no less a value than what a file holds.
        let placed = staged
            .directories
            .iter()
            .any(|(directory, _)| same_name(directory, name));
        is_missing(index) && !placed
    })?;
    let partitions = partition::locate(target, staged, &opened.footer, &columns)?;
    let job = Job::new(
        target,
        staged,
        &opened,
        &columns,
        partitions,
        rules,
        differences,
    )?;
    if opened.footer.num_rows() == 0 {
        return Ok(Vec::new());
    }
    if job.is_encoded_anew {
        job.encode(scratch)
    } else {
        job.verify()?;
        job.opened.check_pages()?;
        job.keep(scratch).map(|file| vec![file])
    }
}

/// What is to be done with a file.
struct Job<'a> {
    target: &'a Target<'a>,
    staged: &'a StagedFile,
    opened: &'a Opened,
    columns: &'a [Column<'a>],
    partitions: Vec<PartitionColumn>,
    rules: Rules<'a>,
    /// What the lengths of each column demand.
    lengths: Vec<Lengths>,
    /// The columns whose values have to be looked at.
    checked: HashSet<usize>,
    is_encoded_anew: bool,
    is_renamed: bool,
}

impl<'a> Job<'a> {
    fn new(
        target: &'a Target<'a>,
        staged: &'a StagedFile,
        opened: &'a Opened,
        columns: &'a [Column<'a>],
        partitions: Vec<PartitionColumn>,
        rules: Rules<'a>,
        differences: Differences,
    ) -> Result<Job<'a>, IntakeError> {
        nulls::check_missing(columns, &staged.name)?;
        calendar::check(&staged.name, &opened.footer, columns)?;
        let lengths: Vec<Lengths> = columns
            .iter()
            .map(|column| lengths::of_column(column, &staged.name))
            .collect::<Result<_, _>>()?;
        let mut job = Job {
            target,
            staged,
            opened,
            columns,
            partitions,
            lengths,
            checked: rules.columns().into_iter().collect(),
            rules,
            is_encoded_anew: differences.values,
            // A new footer has no entries by which some readers would see other types.
            is_renamed: differences.names || opened.footer.misleading_hint().is_some(),
        };
        for (index, column) in columns.iter().enumerate() {
            if job.rules.makes(index) {
                job.is_encoded_anew = true;
            } else if job.partition(index).is_none() {
                job.check_presence(column)?;
            }
            if nulls::is_unproven(column, &opened.footer) || job.lengths[index].checked {
                job.checked.insert(index);
            }
            job.is_encoded_anew |= job.lengths[index].padded;
        }
        job.is_encoded_anew |= statistics::lacks_clustering(target, &opened.metadata, columns);
        job.place_partitions()?;
        // Readers do not agree on files without any column: one that is null takes its place.
        let is_there = |index: usize| job.is_written(index) && columns[index].is_in_file();
        job.is_encoded_anew |= !(0..columns.len()).any(is_there);
        Ok(job)
    }

    /// Works out what the partition columns demand.
    fn place_partitions(&mut self) -> Result<(), IntakeError> {
        let materialized = self.keeps_partition_columns();
        for partition in &self.partitions {
            let field = self.columns[partition.index].field;
            match partition.fixed() {
                None if partition.in_file || self.rules.makes(partition.index) => {
                    self.is_encoded_anew = true;
                }
                None => return Err(partition::no_value(&self.staged.name, field)),
                Some(None) if !field.nullable && self.opened.footer.num_rows() > 0 => {
                    return Err(self.null(&field.name, 0));
                }
                Some(_) => {}
            }
            if partition.is_to_be_compared() {
                self.checked.insert(partition.index);
            }
            // A data file has its partition columns exactly where the table wants them there.
            self.is_renamed |= partition.in_file && !materialized;
            self.is_encoded_anew |= !partition.in_file && materialized;
        }
        Ok(())
    }

    /// Checks that a column that must not be null is there.
    fn check_presence(&self, column: &Column<'_>) -> Result<(), IntakeError> {
        match column.source {
            _ if column.field.nullable => Ok(()),
            Source::File(_) => Ok(()),
            Source::AlwaysNull if self.opened.footer.num_rows() == 0 => Ok(()),
            Source::AlwaysNull => Err(self.null(&column.path, 0)),
            Source::Missing => Err(IntakeError::MissingColumn {
                file: self.staged.name.clone(),
                column: column.path.clone(),
                expected: column.field.data_type.to_string(),
            }),
        }
    }

    fn partition(&self, index: usize) -> Option<&PartitionColumn> {
        self.partitions
            .iter()
            .find(|partition| partition.index == index)
    }

    fn null(&self, column: &str, row: u64) -> IntakeError {
        IntakeError::Null {
            file: self.staged.name.clone(),
            column: column.to_owned(),
            row,
        }
    }

    /// Whether a column goes into data files.
    fn is_written(&self, index: usize) -> bool {
        is_stored(self.columns[index].field)
            && (self.partition(index).is_none() || self.keeps_partition_columns())
    }

    /// Whether data files have the partition columns too: where the table asks for it, and where they
    /// would have no column otherwise, which would leave readers without a number of rows.
    fn keeps_partition_columns(&self) -> bool {
        let is_data =
            |column: &Column<'_>| is_stored(column.field) && !self.is_partition(column.field);
        self.target.rules.materialize_partition_columns || !self.columns.iter().any(is_data)
    }

    fn is_partition(&self, field: &StructField) -> bool {
        self.target.metadata.partition_columns.contains(&field.name)
    }

    /// Looks at the values that have to be looked at.
    fn verify(&self) -> Result<(), IntakeError> {
        if self.checked.is_empty() {
            return Ok(());
        }
        let wanted = |index: usize| self.checked.contains(&index);
        batches::read(self.opened, self.columns, &wanted, &mut |batch| {
            self.check(&wanted, batch).map(drop)
        })
    }

    /// The columns that `wanted` takes, complete and checked: those that the file lacks are null, or
    /// the partition's value.
    fn check(
        &self,
        wanted: &dyn Fn(usize) -> bool,
        batch: Batch,
    ) -> Result<Vec<Option<ArrayRef>>, IntakeError> {
        let (first_row, rows, file) = (batch.first_row, batch.rows, &self.staged.name);
        let mut columns: Vec<Option<ArrayRef>> = Vec::with_capacity(self.columns.len());
        for (index, array) in batch.columns.iter().enumerate() {
            columns.push(match array {
                _ if !wanted(index) || !is_stored(self.columns[index].field) => None,
                Some(array) => Some(self.check_column(index, array, first_row)?),
                None => Some(self.filled(index, rows)?),
            });
        }
        self.rules.make(&mut columns, rows, file, first_row)?;
        for (index, column) in self.columns.iter().enumerate() {
            if self.rules.makes(index)
                && let Some(made) = &columns[index]
            {
                let made = lengths::apply(made, column.field, &column.path, file, first_row)?;
                columns[index] = Some(made);
            }
        }
        for (column, array) in self.columns.iter().zip(&columns) {
            let Some(array) = array else { continue };
            let found = nulls::find(
                array,
                &column.field.data_type,
                column.field.nullable,
                &column.path,
            );
            if let Some((row, path)) = found {
                return Err(self.null(&path, first_row + row as u64));
            }
        }
        self.rules.check(&columns, rows, file, first_row)?;
        Ok(columns)
    }

    /// A column that the file has.
    fn check_column(
        &self,
        index: usize,
        array: &ArrayRef,
        first_row: u64,
    ) -> Result<ArrayRef, IntakeError> {
        let column = &self.columns[index];
        let file = &self.staged.name;
        let array = match self.lengths[index].checked {
            true => lengths::apply(array, column.field, &column.path, file, first_row)?,
            false => array.clone(),
        };
        if let Some(partition) = self.partition(index)
            && let Some(directory) = &partition.directory
            && let Some((row, found)) =
                partition::first_other(&array, partition.primitive, directory)
        {
            let row = first_row + row as u64;
            return Err(partition::disagrees(
                file,
                column.field,
                directory,
                found,
                row,
            ));
        }
        Ok(array)
    }

    /// A column that the file lacks.
    fn filled(&self, index: usize, rows: usize) -> Result<ArrayRef, IntakeError> {
        let field = self.columns[index].field;
        if let Some(partition) = self.partition(index)
            && let Some(value) = partition.fixed()
        {
            return partition::array_of(value, partition.primitive, rows)
                .ok_or_else(|| partition::no_value(&self.staged.name, field));
        }
        Ok(new_null_array(
            &arrow_type(&field.data_type, Names::Logical),
            rows,
        ))
    }
}
