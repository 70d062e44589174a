//! One checkpoint, file by file.

use arrow::array::{Array, StructArray};
use arrow::datatypes::SchemaRef;
use uuid::Uuid;

use super::super::{CheckpointState, read_checkpoint};
use super::encode::{Encoded, FileEncoder, encoding};
use super::fields::Layout;
use super::gather::{FileRows, gather};
use super::others::{push_others, push_v2};
use super::readback::{differs, is_stored, read_back_all, read_back_without_adds};
use super::statistics::StatisticsLayout;
use super::{
    CheckpointForm, CheckpointSources, NewCheckpoint, Reconciliation, WriteError,
    WrittenCheckpoint, WrittenFile,
};
use crate::base::clock::now_ms;
use crate::log::listing::CheckpointFiles;
use crate::log::names::{classic_checkpoint_name, uuid_checkpoint_name};
use crate::log::{LogError, SIDECAR_DIR, log_path};
use crate::storage::Store;

/// File actions in a sidecar, at most.
const SIDECAR_ROWS: u64 = 256 * 1024;

/// A checkpoint on its way. Dropped before it is whole, it takes its sidecars back.
pub(super) struct Writer<'a> {
    store: &'a dyn Store,
    checkpoint: &'a NewCheckpoint<'a>,
    layout: Layout,
    sidecars: Vec<WrittenFile>,
    actions: u64,
    adds: u64,
    removes: u64,
    kept: bool,
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for sidecar in &self.sidecars {
            if let Err(error) = self.store.delete(&sidecar.path) {
                tracing::debug!(%error, "a sidecar without checkpoint stays; cleaning the log up removes it");
            }
        }
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(store: &'a dyn Store, checkpoint: &'a NewCheckpoint<'a>) -> Writer<'a> {
        let parsed = checkpoint.stats_as_struct.map(|(schema, mapping)| {
            StatisticsLayout::of(schema, &checkpoint.metadata.partition_columns, mapping)
        });
        Writer {
            store,
            checkpoint,
            layout: Layout {
                stats_as_json: checkpoint.stats_as_json,
                parsed,
            },
            sidecars: Vec::new(),
            actions: 0,
            adds: 0,
            removes: 0,
            kept: false,
        }
    }

    /// Writes it; to be called once.
    pub(super) fn write(
        &mut self,
        sources: &CheckpointSources,
        choice: &mut dyn Reconciliation,
    ) -> Result<WrittenCheckpoint, WriteError> {
        let written = match self.checkpoint.form {
            CheckpointForm::Classic => self.classic(sources, choice),
            CheckpointForm::V2 => self.v2(sources, choice),
        }?;
        self.kept = true;
        Ok(written)
    }

    fn encoder(&self, path: String, schema: SchemaRef) -> Result<FileEncoder, WriteError> {
        FileEncoder::new(path, schema, self.checkpoint.codec, self.checkpoint.pages)
    }

    fn classic(
        &mut self,
        sources: &CheckpointSources,
        choice: &mut dyn Reconciliation,
    ) -> Result<WrittenCheckpoint, WriteError> {
        let schema = self.layout.v1();
        let path = log_path(&classic_checkpoint_name(self.checkpoint.version));
        let mut encoder = self.encoder(path, schema.clone())?;
        self.push_others(&mut encoder, &schema)?;
        self.gather(sources, choice, |rows| {
            push_files(&mut encoder, &self.layout, rows)
        })?;
        let file = encoder.finish()?;
        let state = read_back_all(&file.path, std::slice::from_ref(&file), choice)?;
        self.count(&file);
        self.check_state(&file.path, &state)?;
        let files = CheckpointFiles::Classic(classic_checkpoint_name(self.checkpoint.version));
        self.publish(&file, &files, choice)
    }

    fn v2(
        &mut self,
        sources: &CheckpointSources,
        choice: &mut dyn Reconciliation,
    ) -> Result<WrittenCheckpoint, WriteError> {
        let uuid = Uuid::new_v4();
        let name = uuid_checkpoint_name(self.checkpoint.version, uuid);
        let path = log_path(&name);
        let mut finished: Vec<Encoded> = Vec::new();
        let mut current: Option<FileEncoder> = None;
        let sidecar_schema = self.layout.sidecar();
        self.gather(sources, choice, |rows| {
            let encoder = match &mut current {
                Some(encoder) => encoder,
                None => {
                    let path = format!("{SIDECAR_DIR}/{}.parquet", Uuid::new_v4());
                    current.insert(self.encoder(path, sidecar_schema.clone())?)
                }
            };
            push_files(encoder, &self.layout, rows)?;
            if encoder.rows() >= SIDECAR_ROWS
                && let Some(encoder) = current.take()
            {
                finished.push(encoder.finish()?);
            }
            Ok(())
        })?;
        if let Some(encoder) = current.filter(|encoder| encoder.rows() > 0) {
            finished.push(encoder.finish()?);
        }
        let mut state = read_back_all(&path, &finished, choice)?;
        // Sidecars are durable before the checkpoint that refers to them is there.
        for file in finished {
            self.count(&file);
            let sidecar = self.put(&file)?;
            self.sidecars.push(sidecar);
            if !is_stored(self.store, &file)? {
                return Err(differs(
                    &file.path,
                    "the store gives other bytes".to_owned(),
                ));
            }
        }
        let schema = self.layout.v2();
        let mut encoder = self.encoder(path, schema.clone())?;
        push_v2(
            &mut encoder,
            &schema,
            self.checkpoint.version,
            &self.sidecars,
        )?;
        self.push_others(&mut encoder, &schema)?;
        let file = encoder.finish()?;
        read_back_without_adds(&file, &mut state)?;
        self.count(&file);
        self.check_state(&file.path, &state)?;
        let names: Vec<&str> = state.sidecars.iter().map(|found| &*found.path).collect();
        let expected: Vec<&str> = self.sidecars.iter().map(WrittenFile::name).collect();
        let version = state.version.and_then(|found| u64::try_from(found).ok());
        if names != expected || version != Some(self.checkpoint.version) {
            return Err(differs(
                &file.path,
                format!("it is of version {version:?} with sidecars {names:?}"),
            ));
        }
        self.publish(&file, &CheckpointFiles::UuidParquet(name), choice)
    }

    /// [`gather`] with the statistics that the layout has.
    fn gather(
        &self,
        sources: &CheckpointSources,
        choice: &mut dyn Reconciliation,
        mut out: impl FnMut(FileRows) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let statistics = self.layout.parsed.as_ref();
        let statistics = statistics.map(StatisticsLayout::data_type);
        gather(self.store, sources, statistics.as_ref(), choice, &mut out)
    }

    fn push_others(&self, encoder: &mut FileEncoder, schema: &SchemaRef) -> Result<(), WriteError> {
        let new = self.checkpoint;
        push_others(
            encoder,
            schema,
            new.protocol,
            new.metadata,
            &new.transactions,
            &new.domains,
        )
    }

    fn count(&mut self, file: &Encoded) {
        self.actions += file.rows;
        self.adds += file.adds.rows();
        self.removes += file.removes.rows();
    }

    /// Compares the actions that are no file actions.
    fn check_state(&self, path: &str, state: &CheckpointState) -> Result<(), WriteError> {
        let new = self.checkpoint;
        let problem = if state.protocol.as_ref() != Some(new.protocol) {
            "the protocol action"
        } else if state.metadata.as_ref() != Some(new.metadata) {
            "the metaData action"
        } else if state.transactions != new.transactions {
            "the txn actions"
        } else if state.domains != new.domains {
            "the domainMetadata actions"
        } else {
            return Ok(());
        };
        Err(differs(path, format!("{problem} came out different")))
    }

    fn put(&self, file: &Encoded) -> Result<WrittenFile, WriteError> {
        self.store.put(&file.path, file.bytes.clone())?;
        let modified = match self.store.head(&file.path) {
            Ok(meta) => meta.modified,
            Err(_) => now_ms(),
        };
        Ok(WrittenFile {
            path: file.path.clone(),
            size: file.bytes.len() as u64,
            modified,
        })
    }

    /// Makes the checkpoint appear, whole. Sidecars go only when the file that refers to them is
    /// known not to be there.
    fn publish(
        &mut self,
        file: &Encoded,
        files: &CheckpointFiles,
        choice: &dyn Reconciliation,
    ) -> Result<WrittenCheckpoint, WriteError> {
        let sidecars = std::mem::take(&mut self.sidecars);
        match self.put_checked(file, files, choice) {
            Ok(written) => Ok(WrittenCheckpoint {
                file: written,
                is_v2: self.checkpoint.form == CheckpointForm::V2,
                sidecars,
                actions: self.actions,
                adds: self.adds,
                removes: self.removes,
            }),
            Err(error) => {
                // A classic name is shared, and what was to be put there was found right.
                if self.checkpoint.form == CheckpointForm::V2 {
                    match self.store.delete(&file.path) {
                        Err(error) if !error.is_not_found() => {
                            tracing::debug!(%error, "a checkpoint that is not pointed to stays");
                        }
                        _ => self.sidecars = sidecars,
                    }
                }
                Err(error)
            }
        }
    }

    fn put_checked(
        &self,
        file: &Encoded,
        files: &CheckpointFiles,
        choice: &dyn Reconciliation,
    ) -> Result<WrittenFile, WriteError> {
        let written = self.put(file)?;
        if is_stored(self.store, file)? {
            return Ok(written);
        }
        // Classic names are shared: "the latest writer wins. However, this should not matter because
        // both checkpoints should contain the same information".
        let mut comparison = choice.comparison();
        let version = self.checkpoint.version;
        match read_checkpoint(self.store, version, files, &mut *comparison) {
            Ok(_) => Err(WriteError::Replaced {
                file: file.path.clone(),
            }),
            Err(LogError::Storage(error)) => Err(error.into()),
            Err(error) => {
                self.store.delete(&file.path)?;
                Err(differs(&file.path, error.to_string()))
            }
        }
    }
}

/// Appends file actions in the forms that the table wants.
fn push_files(
    encoder: &mut FileEncoder,
    layout: &Layout,
    rows: FileRows,
) -> Result<(), WriteError> {
    let (adds, statistics) = match rows {
        FileRows::Removes(removes) => return encoder.push("remove", removes),
        FileRows::Adds(adds, statistics) => (adds, statistics),
    };
    if adds.is_empty() {
        return Ok(());
    }
    let parsed = match &layout.parsed {
        Some(parsed) => parsed
            .parse(&adds, statistics)
            .map_err(|problem| encoding(encoder.path(), problem))?,
        None => Vec::new(),
    };
    let (fields, columns, _) = adds.into_parts();
    let mut kept: Vec<_> = (fields.iter().zip(columns))
        .filter(|(field, _)| layout.stats_as_json || field.name() != "stats")
        .map(|(_, column)| column)
        .collect();
    kept.extend(parsed);
    let adds = StructArray::try_new(layout.add_fields(), kept, None)
        .map_err(|error| encoding(encoder.path(), error))?;
    encoder.push("add", adds)
}
