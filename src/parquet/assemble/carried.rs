//! What of the original footer is carried over beside the column chunks.

use super::super::calendar::{NEW_INT96, VERSION};
use super::super::leaves::LeafShape;
use super::super::thrift::{Damage, Kind, Reader};
use super::super::{Footer, ParquetError};

/// What is carried over.
pub(super) struct Carried<'a> {
    pub(super) version: i32,
    /// The name of the root of the schema.
    pub(super) root: &'a [u8],
    /// The version of Spark that wrote the file, which says that dates and instants mean what the
    /// format says: none of the presented file is in an older calendar. All other key-value entries
    /// describe the original file, and readers that believe them contradict the new one.
    pub(super) spark: Option<&'a [u8]>,
    /// Who wrote the file, by which readers know the mistakes of old writers.
    pub(super) created_by: Option<&'a [u8]>,
    /// The `ColumnOrder` of each leaf of the file.
    pub(super) column_orders: Option<Vec<&'a [u8]>>,
}

impl<'a> Carried<'a> {
    pub(super) fn read(footer: &'a Footer) -> Result<Carried<'a>, ParquetError> {
        let mut carried = Carried {
            version: 1,
            root: b"schema",
            spark: footer
                .key_value(VERSION)
                .map(|version| version.max(NEW_INT96)),
            created_by: None,
            column_orders: None,
        };
        carried
            .read_fields(
                &footer.metadata,
                LeafShape::of_leaves(&footer.columns).len(),
            )
            .map_err(|Damage(reason)| footer.malformed(reason))?;
        Ok(carried)
    }

    fn read_fields(&mut self, metadata: &'a [u8], leaves: usize) -> Result<(), Damage> {
        let mut reader = Reader::new(metadata);
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            match field.id {
                1 => {
                    field.expect(Kind::I32, "FileMetaData.version")?;
                    self.version = reader.i32()?;
                }
                2 => {
                    let mut elements = Reader::new(reader.raw(field)?);
                    if elements.struct_list("schema")? > 0 {
                        self.root = name(elements.raw_struct()?)?.unwrap_or(self.root);
                    }
                }
                6 => {
                    field.expect(Kind::Binary, "FileMetaData.created_by")?;
                    let created_by = reader.binary()?;
                    self.created_by = Some(created_by).filter(|by| !is_presumed(by));
                }
                7 => {
                    field.expect(Kind::List, "FileMetaData.column_orders")?;
                    let count = reader.struct_list("column_orders")?;
                    if count != leaves {
                        return Err(Damage(format!(
                            "it orders {count} columns, but its schema has {leaves} leaf columns"
                        )));
                    }
                    let orders = (0..count).map(|_| reader.raw_struct());
                    self.column_orders = Some(orders.collect::<Result<_, _>>()?);
                }
                _ => reader.skip(field)?,
            }
        }
        Ok(())
    }
}

/// Whether a reader presumes of files by that writer what chunks that are made do not keep to:
/// fastparquet takes the indices in a page of its own for one run.
fn is_presumed(created_by: &[u8]) -> bool {
    memchr::memmem::find(created_by, b"fastparquet").is_some()
}

/// The name in a `SchemaElement`.
fn name(element: &[u8]) -> Result<Option<&[u8]>, Damage> {
    let mut reader = Reader::new(element);
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        if field.id == 4 {
            field.expect(Kind::Binary, "SchemaElement.name")?;
            return reader.binary().map(Some);
        }
        reader.skip(field)?;
    }
    Ok(None)
}
