//! Writing thrift's compact protocol.

use super::{Field, Kind};
use crate::parquet::varint::write_varint;

/// Writes a struct whose fields `fields` writes.
pub(in crate::parquet) fn write_struct(
    out: &mut Vec<u8>,
    fields: impl FnOnce(&mut FieldWriter<'_>),
) {
    fields(&mut FieldWriter { out, last: 0 });
    out.push(0);
}

/// Writes the header of a list of `count` elements.
pub(in crate::parquet) fn write_list(out: &mut Vec<u8>, kind: Kind, count: usize) {
    match u8::try_from(count) {
        Ok(short @ 0..15) => out.push(short << 4 | kind.nibble()),
        _ => {
            out.push(0xF0 | kind.nibble());
            write_varint(out, count as u64);
        }
    }
}

/// Writes an integer of 16, 32 or 64 bits.
pub(in crate::parquet) fn write_integer(out: &mut Vec<u8>, value: i64) {
    write_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Writes a text or binary value.
pub(in crate::parquet) fn write_binary(out: &mut Vec<u8>, value: &[u8]) {
    write_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Writes a boolean that is an element of a list.
pub(in crate::parquet) fn write_bool_element(out: &mut Vec<u8>, value: bool) {
    out.push(if value { Kind::True } else { Kind::False }.nibble());
}

/// The fields of a struct that is being written.
#[derive(Debug)]
pub(in crate::parquet) struct FieldWriter<'a> {
    out: &'a mut Vec<u8>,
    last: i16,
}

impl FieldWriter<'_> {
    fn header(&mut self, id: i16, kind: Kind) -> &mut Vec<u8> {
        match id.checked_sub(self.last) {
            Some(delta @ 1..=15) => self.out.push((delta as u8) << 4 | kind.nibble()),
            _ => {
                self.out.push(kind.nibble());
                write_integer(self.out, id.into());
            }
        }
        self.last = id;
        self.out
    }

    pub(in crate::parquet) fn bool(&mut self, id: i16, value: bool) {
        self.header(id, if value { Kind::True } else { Kind::False });
    }

    pub(in crate::parquet) fn i8(&mut self, id: i16, value: i8) {
        self.header(id, Kind::I8).push(value as u8);
    }

    pub(in crate::parquet) fn i16(&mut self, id: i16, value: i16) {
        write_integer(self.header(id, Kind::I16), value.into());
    }

    pub(in crate::parquet) fn i32(&mut self, id: i16, value: i32) {
        write_integer(self.header(id, Kind::I32), value.into());
    }

    pub(in crate::parquet) fn i64(&mut self, id: i16, value: i64) {
        write_integer(self.header(id, Kind::I64), value);
    }

    pub(in crate::parquet) fn binary(&mut self, id: i16, value: &[u8]) {
        write_binary(self.header(id, Kind::Binary), value);
    }

    pub(in crate::parquet) fn structure(
        &mut self,
        id: i16,
        fields: impl FnOnce(&mut FieldWriter<'_>),
    ) {
        write_struct(self.header(id, Kind::Struct), fields);
    }

    /// A list of `count` elements of that kind; the caller writes each of them to what this
    /// returns.
    pub(in crate::parquet) fn list(&mut self, id: i16, kind: Kind, count: usize) -> &mut Vec<u8> {
        let out = self.header(id, Kind::List);
        write_list(out, kind, count);
        out
    }

    /// A field as it was read: `value` are the bytes behind its header.
    pub(in crate::parquet) fn verbatim(&mut self, field: Field, value: &[u8]) {
        self.header(field.id, field.kind).extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reader;
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let mut out = Vec::new();
        write_struct(&mut out, |fields| {
            fields.i32(1, i32::MIN);
            fields.i64(2, i64::MAX);
            fields.bool(3, false);
            fields.bool(20, true);
            fields.i8(-3, -1);
            fields.i16(4, -300);
            fields.binary(5, b"text");
            fields.structure(6, |inner| inner.i32(1, 7));
            let elements = fields.list(7, Kind::I64, 20);
            (0..20).for_each(|element| write_integer(elements, element));
            fields.list(8, Kind::Binary, 0);
        });
        let mut reader = Reader::new(&out);
        let mut last = 0;
        let mut next = |reader: &mut Reader<'_>| reader.field(&mut last).unwrap();
        let field = |id, kind| Some(Field { id, kind });
        assert_eq!(next(&mut reader), field(1, Kind::I32));
        assert_eq!(reader.i32().unwrap(), i32::MIN);
        assert_eq!(next(&mut reader), field(2, Kind::I64));
        assert_eq!(reader.i64().unwrap(), i64::MAX);
        assert_eq!(next(&mut reader), field(3, Kind::False));
        assert_eq!(next(&mut reader), field(20, Kind::True));
        assert_eq!(next(&mut reader), field(-3, Kind::I8));
        assert_eq!(reader.i8().unwrap(), -1);
        assert_eq!(next(&mut reader), field(4, Kind::I16));
        assert_eq!(reader.i32().unwrap(), -300);
        assert_eq!(next(&mut reader), field(5, Kind::Binary));
        assert_eq!(reader.text("five").unwrap(), "text");
        assert_eq!(next(&mut reader), field(6, Kind::Struct));
        reader.skip(field(6, Kind::Struct).unwrap()).unwrap();
        assert_eq!(next(&mut reader), field(7, Kind::List));
        assert_eq!(reader.list().unwrap(), (Kind::I64, 20));
        for element in 0..20 {
            assert_eq!(reader.i64().unwrap(), element);
        }
        assert_eq!(next(&mut reader), field(8, Kind::List));
        assert_eq!(reader.list().unwrap(), (Kind::Binary, 0));
        assert_eq!(next(&mut reader), None);
        assert_eq!(reader.remaining(), 0);
    }
}
