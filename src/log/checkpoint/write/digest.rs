//! A checksum over the rows of columns, whatever batches they come in.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;

/// A column taken apart, so that a row is hashed without asking for types again.
struct Column<'a> {
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    Texts(&'a arrow::array::StringArray),
    Bytes(&'a arrow::array::BinaryArray),
    Flags(&'a arrow::array::BooleanArray),
    /// Numbers of so many bytes each.
    Fixed(arrow::buffer::Buffer, usize),
    Struct(Vec<Column<'a>>),
    /// Lists and maps.
    Repeated(&'a [i32], Box<Column<'a>>),
}

impl<'a> Column<'a> {
    fn of(array: &'a ArrayRef) -> Result<Column<'a>, String> {
        let values = match array.data_type() {
            DataType::Utf8 => Values::Texts(array.as_string::<i32>()),
            DataType::Binary => Values::Bytes(array.as_binary::<i32>()),
            DataType::Boolean => Values::Flags(array.as_boolean()),
            DataType::Struct(_) => {
                let columns = array.as_struct().columns();
                Values::Struct(columns.iter().map(Column::of).collect::<Result<_, _>>()?)
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let items = Column::of(list.values())?;
                Values::Repeated(list.value_offsets(), Box::new(items))
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let children = vec![Column::of(map.keys())?, Column::of(map.values())?];
                let entries = Column {
                    nulls: None,
                    values: Values::Struct(children),
                };
                Values::Repeated(map.value_offsets(), Box::new(entries))
            }
            other => {
                let width = other
                    .primitive_width()
                    .ok_or_else(|| format!("a column of type {other} is not expected here"))?;
                let data = array.to_data();
                let whole = data.buffers()[0].slice(data.offset() * width);
                Values::Fixed(whole, width)
            }
        };
        Ok(Column {
            nulls: array.nulls(),
            values,
        })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            out.push(0);
            return;
        }
        out.push(1);
        let mut text = |bytes: &[u8]| {
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        match &self.values {
            Values::Texts(array) => text(array.value(row).as_bytes()),
            Values::Bytes(array) => text(array.value(row)),
            Values::Flags(array) => out.push(u8::from(array.value(row))),
            Values::Fixed(buffer, width) => {
                out.extend_from_slice(&buffer[row * width..(row + 1) * width]);
            }
            Values::Struct(columns) => {
                for column in columns {
                    column.write(row, out);
                }
            }
            Values::Repeated(offsets, items) => {
                let (from, to) = (offsets[row], offsets[row + 1]);
                out.extend_from_slice(&(to - from).to_le_bytes());
                for item in from as usize..to as usize {
                    items.write(item, out);
                }
            }
        }
    }
}

/// Number and checksum of the rows of one column so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Digest {
    rows: u64,
    hasher: crc32fast::Hasher,
}

impl PartialEq for Digest {
    fn eq(&self, other: &Digest) -> bool {
        self.rows == other.rows && self.hasher.clone().finalize() == other.hasher.clone().finalize()
    }
}

impl Digest {
    /// How many rows there were.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes in the rows in which `array` is not null.
    pub(super) fn update(&mut self, array: &ArrayRef) -> Result<(), String> {
        let column = Column::of(array)?;
        let mut bytes = Vec::new();
        for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
            bytes.clear();
            column.write(row, &mut bytes);
            self.hasher.update(&bytes);
            self.rows += 1;
        }
        Ok(())
    }
}
