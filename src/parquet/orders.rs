//! The order of values, as a footer states it.

use bytes::Bytes;

use super::Footer;
use super::leaves::LeafShape;
use super::thrift::{Kind, Reader, write_list};

/// A `ColumnOrder` that is `TYPE_ORDER`: field 1 of the union, an empty struct.
const TYPE_ORDER: [u8; 3] = [0x1C, 0x00, 0x00];

impl Footer {
    /// The thrift struct `FileMetaData` of this footer, all column orders being the ones that the
    /// types define; `None` where the footer states no orders.
    ///
    /// The `parquet` crate writes IEEE_754_TOTAL_ORDER for floating-point columns, which readers
    /// that are older than that order cannot parse. Its bounds leave out NaN, as the order of the
    /// type demands, but for a column of nothing else; a bound that is NaN says nothing in that
    /// order.
    pub fn with_type_defined_orders(&self) -> Option<Bytes> {
        let mut reader = Reader::new(&self.metadata);
        let mut last = 0;
        let at = |reader: &Reader<'_>| self.metadata.len() - reader.remaining();
        while let Some(field) = reader.field(&mut last).ok()? {
            let start = at(&reader);
            reader.skip(field).ok()?;
            if field.id != 7 || field.kind != Kind::List {
                continue;
            }
            let leaves = LeafShape::of_leaves(&self.columns).len();
            let mut written = self.metadata[..start].to_vec();
            write_list(&mut written, Kind::Struct, leaves);
            for _ in 0..leaves {
                written.extend_from_slice(&TYPE_ORDER);
            }
            written.extend_from_slice(&self.metadata[at(&reader)..]);
            return Some(written.into());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ::parquet::basic::ColumnOrder;
    use ::parquet::file::metadata::ParquetMetaDataReader;
    use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};

    use super::*;
    use crate::parquet::testing::{MemoryObject, file_of};

    #[test]
    fn the_order_of_floats_is_that_of_the_type_and_all_else_stays() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let columns = [("f", floats), ("n", numbers), ("t", texts)];
        let bytes = file_of(&columns, 10);
        let footer = Footer::read(&MemoryObject::new(bytes)).unwrap();
        let decode = |bytes: &[u8]| ParquetMetaDataReader::decode_metadata(bytes).unwrap();
        let before = decode(&footer.metadata);
        assert_eq!(
            before.file_metadata().column_order(0),
            ColumnOrder::IEEE_754_TOTAL_ORDER
        );
        let after = decode(&footer.with_type_defined_orders().unwrap());
        for leaf in 0..3 {
            let order = after.file_metadata().column_order(leaf);
            assert!(
                matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_)),
                "{leaf}: {order:?}"
            );
        }
        assert_eq!(after.row_groups(), before.row_groups());
        assert_eq!(
            after.file_metadata().created_by(),
            before.file_metadata().created_by()
        );
    }
}
