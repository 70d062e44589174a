//! What a commit removes and what it has read: the mode of the marker, applied to the read version.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roaring::RoaringBitmap;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::StagingError;
use super::marker::{CommitRequest, Mode, PartitionOverwriteMode};
use crate::base::clock::TimestampMs;
use crate::intake::canonical_partition_value;
use crate::intake::expression::PartitionPredicate;
use crate::log::write::{AddFile, RemoveFile};
use crate::protocol::WriteRules;
use crate::schema::{DataType, MappingMode, StructField};
use crate::snapshot::{FileRef, Generation, Snapshot, TableShape};
use crate::txn::{Operation, PartitionFilter, Proposal, Reads};
use crate::view::{VersionView, ViewOptions};

/// What a commit does, by its mode.
#[derive(Debug)]
enum Kind {
    Append,
    OverwriteAll,
    OverwriteWhere(Arc<PartitionPredicate>, String),
    OverwriteDynamic,
    /// Removes these files and adds what is staged.
    Rewrite {
        removed: RoaringBitmap,
        data_change: bool,
    },
}

/// See the module.
#[derive(Debug)]
pub(super) struct Plan {
    kind: Kind,
}

/// What is added, and by whom.
#[derive(Debug)]
pub(super) struct Parts {
    /// The id of the transaction.
    pub id: Uuid,
    /// The new data files.
    pub adds: Vec<AddFile>,
    /// When, milliseconds since the epoch.
    pub now: TimestampMs,
}

/// The partitions in a set, by values in their canonical form.
#[derive(Debug)]
struct PartitionSet {
    shape: Arc<PartitionColumns>,
    values: BTreeSet<BTreeMap<String, Option<String>>>,
}

/// What it takes to compare partition values.
#[derive(Debug)]
struct PartitionColumns(Vec<StructField>, MappingMode);

impl PartitionColumns {
    fn of(base: &Snapshot, shape: &TableShape) -> PartitionColumns {
        let columns = &base.metadata().partition_columns;
        let fields = columns.iter().filter_map(|name| shape.schema.field(name));
        PartitionColumns(fields.cloned().collect(), shape.mapping)
    }

    /// Equal values of one type can be spelled in several ways.
    fn canonical(
        &self,
        values: &BTreeMap<String, Option<String>>,
    ) -> BTreeMap<String, Option<String>> {
        (self.0.iter())
            .map(|field| {
                let name = field.name_in_files(self.1);
                let value = values.get(name).and_then(Option::as_deref);
                let value = match field.data_type {
                    DataType::Primitive(primitive) => canonical_partition_value(value, primitive),
                    // Partition columns have primitive types.
                    _ => value.map(str::to_owned),
                };
                (name.to_owned(), value)
            })
            .collect()
    }
}

impl PartitionFilter for PartitionSet {
    fn may_match(&self, values: &BTreeMap<String, Option<String>>) -> bool {
        self.values.contains(&self.shape.canonical(values))
    }
}

impl Plan {
    /// The plan of a request against the read version.
    pub(super) fn new(
        view: &ViewOptions,
        generation: &Arc<Generation>,
        base: &Arc<Snapshot>,
        request: &CommitRequest,
    ) -> Result<Plan, StagingError> {
        let shape = base.readable()?;
        let dynamic = request.partition_overwrite_mode == Some(PartitionOverwriteMode::Dynamic);
        let kind = match (request.mode, &request.remove, &request.replace_where) {
            (_, Some(names), _) => Kind::Rewrite {
                removed: named_files(view, generation, base, names)?,
                data_change: request.data_change.unwrap_or(true),
            },
            (Mode::Append, None, _) => Kind::Append,
            (Mode::Overwrite, None, Some(predicate)) => {
                let columns = PartitionColumns::of(base, shape);
                let fields: Vec<&StructField> = columns.0.iter().collect();
                let parsed = PartitionPredicate::parse(predicate, &fields, shape.mapping);
                let parsed = parsed.map_err(|error| StagingError::BadOption {
                    option: "replaceWhere",
                    problem: error.to_string(),
                })?;
                Kind::OverwriteWhere(Arc::new(parsed), predicate.clone())
            }
            // Without partition columns there is one partition: the table.
            (Mode::Overwrite, None, None)
                if dynamic && !base.metadata().partition_columns.is_empty() =>
            {
                Kind::OverwriteDynamic
            }
            (Mode::Overwrite, None, None) => Kind::OverwriteAll,
        };
        Ok(Plan { kind })
    }

    /// Refuses to go on where no file is staged, and the mode says nothing that could be done
    /// without.
    pub(super) fn check_without_files(&self) -> Result<(), StagingError> {
        match &self.kind {
            Kind::Rewrite { removed, .. } if !removed.is_empty() => Ok(()),
            Kind::Rewrite { .. } => Err(StagingError::Nothing {
                expected: "stage *.parquet files, or name files in \"remove\"",
            }),
            Kind::Append => Err(StagingError::Nothing {
                expected: "stage *.parquet files, then fsync .commit",
            }),
            Kind::OverwriteAll | Kind::OverwriteWhere(..) | Kind::OverwriteDynamic => {
                Err(StagingError::Nothing {
                    expected: "an overwrite without files would only remove rows; if that is \
                               meant, name the files that are to go in \"remove\", or stage a file \
                               without rows",
                })
            }
        }
    }

    /// `dataChange` of the actions.
    pub(super) fn data_change(&self) -> bool {
        match self.kind {
            Kind::Rewrite { data_change, .. } => data_change,
            _ => true,
        }
    }

    /// The commit as it is to be proposed.
    pub(super) fn propose(
        &self,
        generation: &Generation,
        base: &Snapshot,
        rules: &WriteRules,
        request: &CommitRequest,
        parts: Parts,
    ) -> Result<Proposal, StagingError> {
        let Parts { id, adds, now } = parts;
        let shape = base.readable()?;
        let (removed, reads) = self.removed_and_read(generation, base, shape, &adds)?;
        self.check_rules(generation, rules, &removed, &adds)?;
        let removes = {
            let files = generation.files();
            (removed.iter())
                .map(|id| remove_of(&files.get(id), now, self.data_change()))
                .collect()
        };
        let operation = self.operation(base, &adds, &removed);
        Ok(Proposal {
            table_id: Some(base.metadata().id.clone()),
            reads,
            removes,
            transaction: request.transaction(),
            user_metadata: request.user_metadata.clone(),
            isolation: request.isolation_level.map(Into::into),
            adds,
            ..Proposal::new(id, Some(base.version()), operation)
        })
    }

    fn removed_and_read(
        &self,
        generation: &Generation,
        base: &Snapshot,
        shape: &TableShape,
        adds: &[AddFile],
    ) -> Result<(RoaringBitmap, Reads), StagingError> {
        let columns = Arc::new(PartitionColumns::of(base, shape));
        let matching = |filter: &dyn PartitionFilter| {
            let files = generation.files();
            let ids = base.files().iter();
            ids.filter(|id| filter.may_match(&values_of(&files.get(*id))))
                .collect::<RoaringBitmap>()
        };
        let partitions = |values: BTreeSet<_>| PartitionSet {
            shape: columns.clone(),
            values,
        };
        let of_adds = || {
            adds.iter()
                .map(|add| columns.canonical(&add.partition_values))
        };
        Ok(match &self.kind {
            Kind::Append => (RoaringBitmap::new(), Reads::Nothing),
            Kind::OverwriteAll => (base.files().clone(), Reads::WholeTable),
            Kind::OverwriteWhere(predicate, text) => {
                for add in adds {
                    if predicate.evaluate(&add.partition_values).ok().flatten() != Some(true) {
                        return Err(StagingError::BadOption {
                            option: "replaceWhere",
                            problem: format!(
                                "a staged file has rows of partition {}, which {text} does not \
                                 hold for; stage rows of the partitions that are replaced only",
                                shown(&add.partition_values)
                            ),
                        });
                    }
                }
                (
                    replaced(generation, base, predicate)?,
                    Reads::Partitions(predicate.clone()),
                )
            }
            Kind::OverwriteDynamic => {
                let set = Arc::new(partitions(of_adds().collect()));
                (matching(&*set), Reads::Partitions(set))
            }
            Kind::Rewrite { removed, .. } => {
                // Whoever worked the new files out is taken to have looked at all rows of the
                // partitions that these and the old ones are in.
                let reads = if columns.0.is_empty() {
                    Reads::WholeTable
                } else {
                    let files = generation.files();
                    let of_removed =
                        (removed.iter()).map(|id| columns.canonical(&values_of(&files.get(id))));
                    Reads::Partitions(Arc::new(partitions(of_removed.chain(of_adds()).collect())))
                };
                (removed.clone(), reads)
            }
        })
    }

    /// What the table's properties forbid.
    fn check_rules(
        &self,
        generation: &Generation,
        rules: &WriteRules,
        removed: &RoaringBitmap,
        adds: &[AddFile],
    ) -> Result<(), StagingError> {
        let changes_rows = self.data_change() && !removed.is_empty();
        if rules.append_only && changes_rows {
            return Err(StagingError::AppendOnly {
                what: match self.kind {
                    Kind::Rewrite { .. } => "\"remove\"",
                    _ => "\"mode\": \"overwrite\"",
                },
            });
        }
        let Kind::Rewrite { data_change, .. } = self.kind else {
            return Ok(());
        };
        if rules.change_data_feed && data_change && !adds.is_empty() {
            return Err(StagingError::Unsupported {
                what: "changing rows of a table with a change data feed",
                reason: "delta.enableChangeDataFeed asks for files that tell which rows changed, \
                         and files written elsewhere do not tell; overwrite whole partitions, or \
                         have the property taken off"
                    .to_owned(),
            });
        }
        if !data_change {
            self.check_row_count(generation, removed, adds)?;
        }
        Ok(())
    }

    /// A compaction has as many rows as what it replaces, where statistics tell.
    fn check_row_count(
        &self,
        generation: &Generation,
        removed: &RoaringBitmap,
        adds: &[AddFile],
    ) -> Result<(), StagingError> {
        let records = generation.num_records(removed)?;
        if records.len() as u64 != removed.len() {
            return Ok(());
        }
        let files = generation.files();
        let live = records.iter().map(|(id, count)| {
            let deleted = files.get(*id).deletion_vector;
            let deleted = deleted.map_or(0, |vector| vector.descriptor.cardinality);
            count.saturating_sub(deleted).max(0).unsigned_abs()
        });
        let removed = live.fold(0, u64::saturating_add);
        let staged = adds.iter().map(rows_of).fold(0, u64::saturating_add);
        match staged == removed {
            true => Ok(()),
            false => Err(StagingError::RowsChange { staged, removed }),
        }
    }

    fn operation(&self, base: &Snapshot, adds: &[AddFile], removed: &RoaringBitmap) -> Operation {
        let partition_by = json!(base.metadata().partition_columns).to_string();
        let write = |mode: &str, predicate: Option<&str>| {
            let mut parameters = Map::new();
            parameters.insert("mode".into(), mode.into());
            parameters.insert("partitionBy".into(), partition_by.clone().into());
            if let Some(predicate) = predicate {
                parameters.insert("predicate".into(), predicate.into());
            }
            ("WRITE", parameters)
        };
        let (name, parameters) = match &self.kind {
            Kind::Append => write("Append", None),
            Kind::OverwriteAll => write("Overwrite", None),
            Kind::OverwriteWhere(_, text) => write("Overwrite", Some(text)),
            Kind::OverwriteDynamic => {
                let (name, mut parameters) = write("Overwrite", None);
                parameters.insert("partitionOverwriteMode".into(), "dynamic".into());
                (name, parameters)
            }
            Kind::Rewrite {
                data_change: false, ..
            } => {
                let mut parameters = Map::new();
                parameters.insert("predicate".into(), "[]".into());
                ("OPTIMIZE", parameters)
            }
            Kind::Rewrite { .. } if adds.is_empty() => {
                let mut parameters = Map::new();
                parameters.insert("predicate".into(), "[]".into());
                ("DELETE", parameters)
            }
            Kind::Rewrite { .. } => ("REWRITE", Map::new()),
        };
        let bytes: u64 = adds.iter().map(|add| add.size).sum();
        let rows = adds.iter().map(rows_of).fold(0, u64::saturating_add);
        let metrics = [
            ("numFiles", adds.len() as u64),
            ("numOutputRows", rows),
            ("numOutputBytes", bytes),
            ("numRemovedFiles", removed.len()),
        ];
        Operation {
            name: name.to_owned(),
            parameters,
            metrics: (metrics.iter())
                .map(|(name, value)| ((*name).to_owned(), value.to_string()))
                .collect(),
        }
    }
}

/// The files of the partitions that a predicate holds for. A value for which that cannot be told is
/// an error: its rows would go, or stay, by chance.
fn replaced(
    generation: &Generation,
    base: &Snapshot,
    predicate: &PartitionPredicate,
) -> Result<RoaringBitmap, StagingError> {
    let files = generation.files();
    let mut found = RoaringBitmap::new();
    for id in base.files() {
        let holds = predicate.evaluate(&values_of(&files.get(id)));
        let holds = holds.map_err(|error| StagingError::BadOption {
            option: "replaceWhere",
            problem: error.to_string(),
        })?;
        if holds == Some(true) {
            found.insert(id);
        }
    }
    Ok(found)
}

/// The files of the read version that go by these names in its directory.
fn named_files(
    view: &ViewOptions,
    generation: &Arc<Generation>,
    base: &Snapshot,
    names: &[String],
) -> Result<RoaringBitmap, StagingError> {
    let view = VersionView::new(generation.clone(), base.version(), view, &[])?;
    if !view.is_flat() {
        view.directories()
            .map_err(crate::view::VersionError::from)?;
    }
    let files = generation.files();
    let mut found = RoaringBitmap::new();
    for name in names {
        let plain = name.strip_prefix("./").unwrap_or(name);
        let (directory, last) = plain.rsplit_once('/').unwrap_or(("", plain));
        let id = view.find(&files, directory, last);
        let id = id.ok_or_else(|| StagingError::NoSuchFile {
            name: name.clone(),
            version: base.version(),
        })?;
        if !found.insert(id) {
            return Err(StagingError::BadOption {
                option: "remove",
                problem: format!("{name} is named twice; name each file once"),
            });
        }
    }
    Ok(found)
}

fn values_of(file: &FileRef<'_>) -> BTreeMap<String, Option<String>> {
    (file.partition_values.iter())
        .map(|(name, value)| (name.to_string(), value.as_deref().map(str::to_owned)))
        .collect()
}

fn remove_of(file: &FileRef<'_>, now: TimestampMs, data_change: bool) -> RemoveFile {
    RemoveFile {
        path: file.location().to_log_path(),
        deletion_timestamp: now,
        data_change,
        extended_file_metadata: true,
        partition_values: values_of(file),
        size: file.size,
        deletion_vector: (file.deletion_vector).map(|vector| vector.descriptor.clone()),
        base_row_id: None,
        default_row_commit_version: None,
        tags: None,
    }
}

/// `numRecords` of a file that this process has made the statistics of.
fn rows_of(add: &AddFile) -> u64 {
    let stats: Option<Value> =
        (add.stats.as_deref()).and_then(|text| serde_json::from_str(text).ok());
    let rows = stats.and_then(|stats| stats.get("numRecords")?.as_u64());
    rows.unwrap_or(0)
}

fn shown(values: &BTreeMap<String, Option<String>>) -> String {
    let pairs: Vec<String> = (values.iter())
        .map(|(column, value)| match value {
            Some(value) => format!("{column}={value}"),
            None => format!("{column}=null"),
        })
        .collect();
    pairs.join("/")
}
