//! Any struct: written, read, passed over and copied, whole and damaged.

use proptest::prelude::*;

use super::*;

/// A value of a field.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    Binary(Vec<u8>),
    Numbers(Vec<i64>),
    Texts(Vec<Vec<u8>>),
    Structs(Vec<Fields>),
    Struct(Fields),
}

type Fields = Vec<(i16, Value)>;

fn value() -> impl Strategy<Value = Value> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..20);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i8>().prop_map(Value::I8),
        any::<i16>().prop_map(Value::I16),
        any::<i32>().prop_map(Value::I32),
        any::<i64>().prop_map(Value::I64),
        bytes().prop_map(Value::Binary),
        prop::collection::vec(any::<i64>(), 0..20).prop_map(Value::Numbers),
        prop::collection::vec(bytes(), 0..20).prop_map(Value::Texts),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let fields = || prop::collection::vec((id(), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(fields(), 0..4).prop_map(Value::Structs),
            fields().prop_map(Value::Struct),
        ]
    })
}

/// Mostly small ones.
fn id() -> impl Strategy<Value = i16> {
    prop_oneof![4 => 1_i16..20, 1 => any::<i16>()]
}

fn fields() -> impl Strategy<Value = Fields> {
    prop::collection::vec((id(), value()), 0..6)
}

fn write(out: &mut FieldWriter<'_>, fields: &Fields) {
    for (id, value) in fields {
        match value {
            Value::Bool(value) => out.bool(*id, *value),
            Value::I8(value) => out.i8(*id, *value),
            Value::I16(value) => out.i16(*id, *value),
            Value::I32(value) => out.i32(*id, *value),
            Value::I64(value) => out.i64(*id, *value),
            Value::Binary(value) => out.binary(*id, value),
            Value::Numbers(numbers) => {
                let out = out.list(*id, Kind::I64, numbers.len());
                numbers
                    .iter()
                    .for_each(|number| write_integer(out, *number));
            }
            Value::Texts(texts) => {
                let out = out.list(*id, Kind::Binary, texts.len());
                texts.iter().for_each(|text| write_binary(out, text));
            }
            Value::Structs(structs) => {
                let out = out.list(*id, Kind::Struct, structs.len());
                for fields in structs {
                    write_struct(out, |out| write(out, fields));
                }
            }
            Value::Struct(fields) => out.structure(*id, |out| write(out, fields)),
        }
    }
}

fn written(fields: &Fields) -> Vec<u8> {
    let mut out = Vec::new();
    write_struct(&mut out, |out| write(out, fields));
    out
}

/// What [`write`] wrote.
fn read(reader: &mut Reader<'_>) -> Result<Fields, Damage> {
    let mut fields = Vec::new();
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        let value = match field.kind {
            Kind::True | Kind::False => Value::Bool(field.bool("b")?),
            Kind::I8 => Value::I8(reader.i8()?),
            Kind::I16 => Value::I16(reader.i16()?),
            Kind::I32 => Value::I32(reader.i32()?),
            Kind::I64 => Value::I64(reader.i64()?),
            Kind::Binary => Value::Binary(reader.binary()?.to_vec()),
            Kind::Struct => Value::Struct(read(reader)?),
            Kind::List => match reader.list()? {
                (Kind::I64, count) => {
                    Value::Numbers((0..count).map(|_| reader.i64()).collect::<Result<_, _>>()?)
                }
                (Kind::Binary, count) => {
                    let texts = (0..count).map(|_| reader.binary().map(<[u8]>::to_vec));
                    Value::Texts(texts.collect::<Result<_, _>>()?)
                }
                (_, count) => {
                    Value::Structs((0..count).map(|_| read(reader)).collect::<Result<_, _>>()?)
                }
            },
            other => return Err(Damage(format!("nobody wrote {other:?}"))),
        };
        fields.push((field.id, value));
    }
    Ok(fields)
}

/// The fields of a struct with the bytes of their values.
fn raw<'a>(reader: &mut Reader<'a>) -> Result<Vec<(Field, &'a [u8])>, Damage> {
    let mut fields = Vec::new();
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        fields.push((field, reader.raw(field)?));
    }
    Ok(fields)
}

fn copied(fields: &[(Field, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    write_struct(&mut out, |out| {
        for (field, value) in fields {
            out.verbatim(*field, value);
        }
    });
    out
}

proptest! {
    #[test]
    fn structs_read_back_and_copy_byte_by_byte(fields in fields()) {
        let bytes = written(&fields);
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(read(&mut reader), Ok(fields));
        prop_assert_eq!(reader.remaining(), 0);
        prop_assert_eq!(Reader::new(&bytes).raw_struct(), Ok(&bytes[..]));
        let raw = raw(&mut Reader::new(&bytes)).expect("it was read before");
        prop_assert_eq!(copied(&raw), bytes);
    }

    #[test]
    fn damaged_structs_are_an_error_or_copy(
        fields in fields(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4), 1..4),
    ) {
        let mut bytes = written(&fields);
        for (at, byte, kind) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at),
            }
        }
        // Values of the kinds that the format has no use for are passed over, not read.
        let _ = read(&mut Reader::new(&bytes));
        let mut reader = Reader::new(&bytes);
        let whole = Reader::new(&bytes).raw_struct();
        match raw(&mut reader) {
            Ok(fields) => {
                let length = bytes.len() - reader.remaining();
                prop_assert_eq!(whole, Ok(&bytes[..length]));
                let copy = copied(&fields);
                prop_assert_eq!(raw(&mut Reader::new(&copy)), Ok(fields));
            }
            // What nests too deep as a part of something does not by itself.
            Err(damage) => prop_assert!(whole.is_err(), "{:?}", damage),
        }
    }
}
