//! Values, and how they get into Arrow arrays and out of them.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, ListArray, MapArray,
    StringArray, StructArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType,
};

use super::dice::Dice;
use super::kinds::{Kind, Part, Primitive};

/// A value of any type. Floats are told apart by their bits.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Boolean(bool),
    /// An integer, an unscaled decimal, days or microseconds.
    Number(i128),
    Float(u32),
    Double(u64),
    /// Text or bytes.
    Bytes(Vec<u8>),
    Struct(Vec<Value>),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

/// What values are like.
#[derive(Debug, Clone, Copy)]
pub struct Flavour {
    /// How many of 16 are null.
    pub nulls: usize,
    /// How many different ones there are; 0 for any number.
    pub distinct: usize,
    /// What the file's timestamps can hold.
    pub unit: TimeUnit,
}

impl Flavour {
    /// Any value of a type.
    pub fn value(self, part: &Part, dice: &mut Dice) -> Value {
        if part.nullable && dice.below(16) < self.nulls {
            return Value::Null;
        }
        match &part.kind {
            Kind::Primitive(primitive) => self.primitive(*primitive, dice),
            Kind::Struct(fields) => {
                let fields = fields.iter().map(|field| self.value(&field.part, dice));
                Value::Struct(fields.collect())
            }
            Kind::List(element) => {
                let length = dice.below(4) * dice.below(3);
                Value::List((0..length).map(|_| self.value(element, dice)).collect())
            }
            Kind::Map(key, value) => {
                let entries = (0..dice.below(4))
                    .map(|_| (self.primitive(*key, dice), self.value(value, dice)));
                Value::Map(entries.collect())
            }
        }
    }

    fn primitive(self, primitive: Primitive, dice: &mut Dice) -> Value {
        match self.distinct {
            0 => primitive_value(primitive, self.unit, dice),
            distinct => {
                let mut one_of_few = Dice::new(dice.below(distinct) as u64 + 1);
                primitive_value(primitive, self.unit, &mut one_of_few)
            }
        }
    }
}

fn primitive_value(primitive: Primitive, unit: TimeUnit, dice: &mut Dice) -> Value {
    let integer = |dice: &mut Dice, least: i128, most: i128| {
        Value::Number(match dice.below(8) {
            0 => least,
            1 => most,
            2 => 0,
            3 => -1,
            4 => (dice.below(200) as i128).min(most),
            5 => -(dice.below(1_000_000) as i128).min(-least),
            _ => {
                let any = u128::from(dice.next()) << 64 | u128::from(dice.next());
                (any % (most as u128 + 1)) as i128
            }
        })
    };
    match primitive {
        Primitive::Boolean => Value::Boolean(dice.below(2) == 1),
        Primitive::Byte => integer(dice, i8::MIN.into(), i8::MAX.into()),
        Primitive::Short => integer(dice, i16::MIN.into(), i16::MAX.into()),
        Primitive::Integer => integer(dice, i32::MIN.into(), i32::MAX.into()),
        Primitive::Long => integer(dice, i64::MIN.into(), i64::MAX.into()),
        Primitive::Decimal(precision, _) => {
            let most = 10_i128.pow(precision.into()) - 1;
            integer(dice, -most, most)
        }
        Primitive::Float => Value::Float(
            match dice.below(8) {
                0 => f32::NAN,
                1 => -0.0,
                2 => 0.0,
                3 => f32::NEG_INFINITY,
                _ => dice.below(1 << 20) as f32 / 8.0 - 6.0e4,
            }
            .to_bits(),
        ),
        Primitive::Double => Value::Double(
            match dice.below(8) {
                0 => f64::NAN,
                1 => -0.0,
                2 => 0.0,
                3 => f64::INFINITY,
                _ => dice.below(1 << 40) as f64 / 8.0 - 6.0e10,
            }
            .to_bits(),
        ),
        Primitive::String => Value::Bytes(text(dice).into_bytes()),
        Primitive::Binary => {
            const FILLS: [&[u8]; 4] = [&[0xff], &[0x00], &[0x80, 0x01, 0xff], b"ab"];
            let fill = dice.pick(&FILLS);
            let length = length(dice);
            Value::Bytes(fill.iter().copied().cycle().take(length).collect())
        }
        // From year 53 to year 9909.
        Primitive::Date => integer(dice, -700_000, 2_900_000),
        Primitive::Timestamp | Primitive::TimestampNtz => {
            let days = match unit {
                TimeUnit::Nanosecond => dice.below(200_000) as i128 - 100_000,
                _ => dice.below(3_600_000) as i128 - 700_000,
            };
            let micros = days * 86_400_000_000 + dice.below(86_400_000_000) as i128;
            Value::Number(match unit {
                TimeUnit::Millisecond => micros - micros.rem_euclid(1_000),
                _ => micros,
            })
        }
    }
}

fn length(dice: &mut Dice) -> usize {
    match dice.below(40) {
        0 => 5_000,
        1..4 => 60 + dice.below(80),
        _ => dice.below(12),
    }
}

/// Text, also such as has no successor when it is cut off.
pub fn text(dice: &mut Dice) -> String {
    const LETTERS: [&str; 4] = ["abZ0", "éßx", "\u{10ffff}\u{7f}", "\u{d7ff}\u{ffff}'\"/%\\"];
    let letters: Vec<char> = dice.pick(&LETTERS).chars().collect();
    let length = length(dice);
    (0..length).map(|_| *dice.pick(&letters)).collect()
}

/// An array of `data_type` with these values, which are of the type that it spells.
pub fn array(data_type: &DataType, values: &[&Value]) -> ArrayRef {
    let nulls = || NullBuffer::from_iter(values.iter().map(|value| **value != Value::Null));
    let numbers = || {
        values.iter().map(|value| match value {
            Value::Number(number) => Some(*number),
            Value::Null => None,
            other => panic!("{other:?} is no number"),
        })
    };
    let bytes = || {
        values.iter().map(|value| match value {
            Value::Bytes(bytes) => Some(bytes.as_slice()),
            Value::Null => None,
            other => panic!("{other:?} is no text"),
        })
    };
    match data_type {
        DataType::Boolean => Arc::new(BooleanArray::from_iter(values.iter().map(
            |value| match value {
                Value::Boolean(boolean) => Some(*boolean),
                _ => None,
            },
        ))),
        DataType::Int8 => Arc::new(Int8Array::from_iter(numbers().map(|n| n.map(|n| n as i8)))),
        DataType::Int16 => Arc::new(Int16Array::from_iter(
            numbers().map(|n| n.map(|n| n as i16)),
        )),
        DataType::Int32 => Arc::new(Int32Array::from_iter(
            numbers().map(|n| n.map(|n| n as i32)),
        )),
        DataType::Int64 => Arc::new(Int64Array::from_iter(
            numbers().map(|n| n.map(|n| n as i64)),
        )),
        DataType::Date32 => Arc::new(Date32Array::from_iter(
            numbers().map(|n| n.map(|n| n as i32)),
        )),
        DataType::Decimal128(precision, scale) => Arc::new(
            Decimal128Array::from_iter(numbers())
                .with_precision_and_scale(*precision, *scale)
                .expect("the type is right"),
        ),
        DataType::Float32 => Arc::new(Float32Array::from_iter(values.iter().map(
            |value| match value {
                Value::Float(bits) => Some(f32::from_bits(*bits)),
                _ => None,
            },
        ))),
        DataType::Float64 => Arc::new(Float64Array::from_iter(values.iter().map(
            |value| match value {
                Value::Double(bits) => Some(f64::from_bits(*bits)),
                _ => None,
            },
        ))),
        DataType::Utf8 => {
            Arc::new(StringArray::from_iter(bytes().map(|bytes| {
                bytes.map(|bytes| std::str::from_utf8(bytes).expect("it was text"))
            })))
        }
        DataType::Binary => Arc::new(BinaryArray::from_iter(bytes())),
        DataType::Timestamp(unit, zone) => {
            let zone = zone.clone();
            let scaled = |times: i128, part: i128| {
                // What is below a microsecond is not in the table.
                let below = move |n: i128| n.rem_euclid(times);
                numbers().map(move |n| n.map(|n| (n * times / part + below(n)) as i64))
            };
            match unit {
                TimeUnit::Millisecond => Arc::new(
                    TimestampMillisecondArray::from_iter(scaled(1, 1_000)).with_timezone_opt(zone),
                ),
                TimeUnit::Nanosecond => Arc::new(
                    TimestampNanosecondArray::from_iter(scaled(1_000, 1)).with_timezone_opt(zone),
                ),
                _ => Arc::new(
                    TimestampMicrosecondArray::from_iter(scaled(1, 1)).with_timezone_opt(zone),
                ),
            }
        }
        DataType::Struct(fields) => {
            let children = fields.iter().enumerate().map(|(index, field)| {
                let child: Vec<&Value> = values
                    .iter()
                    .map(|value| match value {
                        Value::Struct(fields) => &fields[index],
                        _ => &Value::Null,
                    })
                    .collect();
                array(field.data_type(), &child)
            });
            let children: Vec<ArrayRef> = children.collect();
            Arc::new(StructArray::new(fields.clone(), children, Some(nulls())))
        }
        DataType::List(element) => {
            let lists = values.iter().map(|value| match value {
                Value::List(elements) => elements.as_slice(),
                _ => &[],
            });
            let elements: Vec<&Value> = lists.clone().flatten().collect();
            Arc::new(ListArray::new(
                element.clone(),
                OffsetBuffer::from_lengths(lists.map(<[Value]>::len)),
                array(element.data_type(), &elements),
                Some(nulls()),
            ))
        }
        DataType::Map(entries, sorted) => {
            let DataType::Struct(fields) = entries.data_type() else {
                panic!("the entries of a map are a struct");
            };
            let maps = values.iter().map(|value| match value {
                Value::Map(entries) => entries.as_slice(),
                _ => &[],
            });
            let keys: Vec<&Value> = maps.clone().flatten().map(|(key, _)| key).collect();
            let items: Vec<&Value> = maps.clone().flatten().map(|(_, value)| value).collect();
            let children = vec![
                array(fields[0].data_type(), &keys),
                array(fields[1].data_type(), &items),
            ];
            Arc::new(MapArray::new(
                entries.clone(),
                OffsetBuffer::from_lengths(maps.map(<[(Value, Value)]>::len)),
                StructArray::new(fields.clone(), children, None),
                Some(nulls()),
                *sorted,
            ))
        }
        other => panic!("no table has {other}"),
    }
}

/// The values of an array that a reader made.
pub fn values(array: &dyn Array) -> Vec<Value> {
    let each = |value: &dyn Fn(usize) -> Value| {
        (0..array.len())
            .map(|row| match array.is_null(row) {
                true => Value::Null,
                false => value(row),
            })
            .collect()
    };
    macro_rules! numbers {
        ($kind:ty) => {{
            let typed = array.as_primitive::<$kind>();
            each(&|row| Value::Number(typed.value(row).into()))
        }};
    }
    match array.data_type() {
        DataType::Boolean => {
            let typed = array.as_boolean();
            each(&|row| Value::Boolean(typed.value(row)))
        }
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::Date32 => numbers!(Date32Type),
        DataType::Decimal128(..) => numbers!(Decimal128Type),
        DataType::Timestamp(TimeUnit::Microsecond, _) => numbers!(TimestampMicrosecondType),
        DataType::Float32 => {
            let typed = array.as_primitive::<Float32Type>();
            each(&|row| Value::Float(typed.value(row).to_bits()))
        }
        DataType::Float64 => {
            let typed = array.as_primitive::<Float64Type>();
            each(&|row| Value::Double(typed.value(row).to_bits()))
        }
        DataType::Utf8 => {
            let typed = array.as_string::<i32>();
            each(&|row| Value::Bytes(typed.value(row).as_bytes().to_vec()))
        }
        DataType::Binary => {
            let typed = array.as_binary::<i32>();
            each(&|row| Value::Bytes(typed.value(row).to_vec()))
        }
        DataType::Struct(_) => {
            let columns: Vec<Vec<Value>> = array
                .as_struct()
                .columns()
                .iter()
                .map(|column| values(column))
                .collect();
            each(&|row| Value::Struct(columns.iter().map(|column| column[row].clone()).collect()))
        }
        DataType::List(_) => {
            let typed = array.as_list::<i32>();
            let elements = values(typed.values());
            let offsets = typed.value_offsets();
            each(&|row| {
                Value::List(elements[offsets[row] as usize..offsets[row + 1] as usize].to_vec())
            })
        }
        DataType::Map(..) => {
            let typed = array.as_map();
            let (keys, items) = (values(typed.keys()), values(typed.values()));
            let offsets = typed.value_offsets();
            each(&|row| {
                let entries = (offsets[row] as usize..offsets[row + 1] as usize)
                    .map(|at| (keys[at].clone(), items[at].clone()));
                Value::Map(entries.collect())
            })
        }
        other => panic!("a reader saw {other}"),
    }
}
