//! How a table's schema changes, and what becomes of values written before.

use super::kinds::{Field, Kind, Mapping, Part, Primitive};
use super::values::Value;

/// One change of a schema. Positions count modulo what there is.
#[derive(Debug, Clone)]
pub enum Change {
    /// A nullable field is added to a struct, or a column to the table. Under column mapping it
    /// may get the name of one that was dropped.
    Add {
        to: usize,
        position: usize,
        part: Part,
        again: bool,
    },
    /// A field is dropped; not the last one. Without column mapping it is as if the schema were
    /// overwritten.
    Drop { from: usize, position: usize },
    /// A field gets another name. Only under column mapping.
    Rename { of: usize, position: usize },
    /// Two fields of a struct get each other's name. Only under column mapping.
    Swap {
        of: usize,
        first: usize,
        second: usize,
    },
    /// A field moves.
    Move { of: usize, from: usize, to: usize },
    /// A type is widened.
    Widen {
        leaf: usize,
        choice: usize,
        digits: u8,
        places: u8,
    },
}

/// A table's schema as it changes.
#[derive(Debug, Clone)]
pub struct Schema {
    pub mapping: Mapping,
    pub columns: Vec<Field>,
    /// The ids of the columns whose values are in the log.
    pub partitions: Vec<i32>,
    pub last_id: i32,
    /// The names of dropped fields.
    pub dropped: Vec<String>,
}

impl Schema {
    /// Gives ids and names to a field and all below it.
    pub fn named(&mut self, mut part: Part) -> Field {
        self.name_parts(&mut part.kind);
        self.last_id += 1;
        let id = self.last_id;
        let name = match (self.mapping, id % 4) {
            (_, 0) => format!("列{id}"),
            (Mapping::Name | Mapping::Id, 1) => format!("a.b `{id}"),
            (_, 2) => format!("Col{id}"),
            _ => format!("c{id}"),
        };
        let physical = match (self.mapping, id % 3) {
            (Mapping::None, _) | (_, 0) => name.clone(),
            _ => format!("col-{id}"),
        };
        Field {
            id,
            name,
            physical,
            part,
        }
    }

    fn name_parts(&mut self, kind: &mut Kind) {
        match kind {
            Kind::Primitive(_) => {}
            Kind::Struct(fields) => {
                for field in fields {
                    *field = self.named(field.part.clone());
                }
            }
            Kind::List(element) => self.name_parts(&mut element.kind),
            Kind::Map(_, value) => self.name_parts(&mut value.kind),
        }
    }

    /// Makes a change, where there is what it changes.
    pub fn change(&mut self, change: &Change) {
        match change {
            Change::Add {
                to,
                position,
                part,
                again,
            } => {
                let mut field = self.named(part.clone());
                field.part.nullable = true;
                let old = match self.mapping {
                    Mapping::None => None,
                    Mapping::Name | Mapping::Id => self.dropped.last().filter(|_| *again),
                };
                let fields = nth_struct(&mut self.columns, *to);
                if let Some(old) = old
                    && fields.iter().all(|other| other.name != *old)
                {
                    field.name.clone_from(old);
                    field.physical = format!("col-{}", field.id);
                }
                let position = position % (fields.len() + 1);
                fields.insert(position, field);
            }
            Change::Drop { from, position } => {
                let partitions = self.partitions.clone();
                let fields = nth_struct(&mut self.columns, *from);
                let position = position % fields.len();
                let is_partition = |field: &Field| partitions.contains(&field.id);
                let left = fields.iter().filter(|field| !is_partition(field)).count();
                if left > 1 && !is_partition(&fields[position]) {
                    let name = fields.remove(position).name;
                    self.dropped.push(name);
                }
            }
            Change::Rename { of, position } => {
                if self.mapping == Mapping::None {
                    return;
                }
                self.last_id += 1;
                let name = format!("Renamed {}", self.last_id);
                let fields = nth_struct(&mut self.columns, *of);
                let position = position % fields.len();
                fields[position].name = name;
            }
            Change::Swap { of, first, second } => {
                if self.mapping == Mapping::None {
                    return;
                }
                let fields = nth_struct(&mut self.columns, *of);
                let (first, second) = (first % fields.len(), second % fields.len());
                let name = fields[first].name.clone();
                fields[first].name = fields[second].name.clone();
                fields[second].name = name;
            }
            Change::Move { of, from, to } => {
                let fields = nth_struct(&mut self.columns, *of);
                let field = fields.remove(from % fields.len());
                let to = to % (fields.len() + 1);
                fields.insert(to, field);
            }
            Change::Widen {
                leaf,
                choice,
                digits,
                places,
            } => {
                let mut leaves = Vec::new();
                for column in &mut self.columns {
                    collect_primitives(&mut column.part.kind, &mut leaves);
                }
                let leaf = leaf % leaves.len();
                let wider = leaves[leaf].wider(*digits, *places);
                if !wider.is_empty() {
                    *leaves[leaf] = wider[choice % wider.len()];
                }
            }
        }
    }
}

fn nth_struct(columns: &mut Vec<Field>, n: usize) -> &mut Vec<Field> {
    fn count(kind: &Kind) -> usize {
        match kind {
            Kind::Primitive(_) => 0,
            Kind::Struct(fields) => 1 + count_all(fields),
            Kind::List(part) | Kind::Map(_, part) => count(&part.kind),
        }
    }
    fn count_all(fields: &[Field]) -> usize {
        fields.iter().map(|field| count(&field.part.kind)).sum()
    }
    fn find(fields: &mut Vec<Field>, mut n: usize) -> &mut Vec<Field> {
        if n == 0 {
            return fields;
        }
        n -= 1;
        for field in fields {
            let within = count(&field.part.kind);
            if n < within {
                let mut kind = &mut field.part.kind;
                loop {
                    match kind {
                        Kind::Primitive(_) => unreachable!("it has structs in it"),
                        Kind::Struct(fields) => return find(fields, n),
                        Kind::List(part) | Kind::Map(_, part) => kind = &mut part.kind,
                    }
                }
            }
            n -= within;
        }
        unreachable!("there are that many structs")
    }
    let structs = 1 + count_all(columns);
    find(columns, n % structs)
}

fn collect_primitives<'a>(kind: &'a mut Kind, leaves: &mut Vec<&'a mut Primitive>) {
    match kind {
        Kind::Primitive(primitive) => leaves.push(primitive),
        Kind::Struct(fields) => {
            for field in fields {
                collect_primitives(&mut field.part.kind, leaves);
            }
        }
        Kind::List(part) => collect_primitives(&mut part.kind, leaves),
        Kind::Map(key, part) => {
            leaves.push(key);
            collect_primitives(&mut part.kind, leaves);
        }
    }
}

/// What a value that was written as `from` is in a column that has become `to`.
pub fn carried(value: &Value, from: &Kind, to: &Kind) -> Value {
    match (value, from, to) {
        (Value::Null, ..) => Value::Null,
        (_, Kind::Primitive(from), Kind::Primitive(to)) => widened(value, *from, *to),
        (Value::Struct(values), Kind::Struct(from), Kind::Struct(to)) => Value::Struct(
            to.iter()
                .map(|field| {
                    let before = from.iter().position(|before| before.id == field.id);
                    before.map_or(Value::Null, |at| {
                        carried(&values[at], &from[at].part.kind, &field.part.kind)
                    })
                })
                .collect(),
        ),
        (Value::List(values), Kind::List(from), Kind::List(to)) => {
            let values = values.iter();
            Value::List(values.map(|v| carried(v, &from.kind, &to.kind)).collect())
        }
        (Value::Map(entries), Kind::Map(from_key, from), Kind::Map(to_key, to)) => Value::Map(
            entries
                .iter()
                .map(|(key, value)| {
                    let key = widened(key, *from_key, *to_key);
                    (key, carried(value, &from.kind, &to.kind))
                })
                .collect(),
        ),
        _ => panic!("{value:?} of {from:?} is carried to {to:?}"),
    }
}

/// A value of `from` as one of a type that it was widened to.
pub fn widened(value: &Value, from: Primitive, to: Primitive) -> Value {
    if from == to {
        return value.clone();
    }
    match (value, from, to) {
        (Value::Null, ..) => Value::Null,
        (Value::Float(bits), _, Primitive::Double) => {
            Value::Double(f64::from(f32::from_bits(*bits)).to_bits())
        }
        (Value::Number(number), _, Primitive::Double) => Value::Double((*number as f64).to_bits()),
        (Value::Number(days), Primitive::Date, Primitive::TimestampNtz) => {
            Value::Number(days * 86_400_000_000)
        }
        (Value::Number(unscaled), Primitive::Decimal(_, before), Primitive::Decimal(_, after)) => {
            Value::Number(unscaled * 10_i128.pow((after - before) as u32))
        }
        (Value::Number(number), _, Primitive::Decimal(_, scale)) => {
            Value::Number(number * 10_i128.pow(scale as u32))
        }
        (Value::Number(_), _, _) => value.clone(),
        _ => panic!("{value:?} of {from:?} is widened to {to:?}"),
    }
}
