//! Thrift's compact protocol, in which footers are written.
//!
//! See `thrift-compact-protocol.md` of Apache Thrift. A reader never looks beyond its bytes, and a
//! list that claims more elements than there are bytes left is refused before anything is reserved.

mod write;

#[cfg(test)]
mod tests;

use super::schema::MAX_DEPTH;
use super::varint::take_varint;

pub(super) use write::{
    FieldWriter, write_binary, write_bool_element, write_integer, write_list, write_struct,
};

/// The type of a field or an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// As a field the kind is the value; as an element one byte follows.
    True,
    /// As [`Kind::True`].
    False,
    I8,
    I16,
    I32,
    I64,
    Double,
    Binary,
    List,
    Set,
    Map,
    Struct,
    Uuid,
}

impl Kind {
    fn nibble(self) -> u8 {
        self as u8 + 1
    }

    fn from_nibble(nibble: u8) -> Result<Kind, Damage> {
        Ok(match nibble {
            1 => Kind::True,
            2 => Kind::False,
            3 => Kind::I8,
            4 => Kind::I16,
            5 => Kind::I32,
            6 => Kind::I64,
            7 => Kind::Double,
            8 => Kind::Binary,
            9 => Kind::List,
            10 => Kind::Set,
            11 => Kind::Map,
            12 => Kind::Struct,
            13 => Kind::Uuid,
            other => return Err(Damage(format!("thrift has no type {other}"))),
        })
    }
}

const CUT_OFF: &str = "it ends in the middle of a value";

/// Why bytes are not what the format says: a clause for [`super::ParquetError::Malformed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Damage(pub(super) String);

impl Damage {
    fn cut_off() -> Damage {
        Damage(CUT_OFF.to_owned())
    }
}

/// A field of a struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) id: i16,
    pub(super) kind: Kind,
}

impl Field {
    /// An error unless the field has the kind that the format gives it.
    pub(super) fn expect(self, kind: Kind, name: &str) -> Result<(), Damage> {
        if self.kind == kind {
            return Ok(());
        }
        Err(Damage(format!(
            "field {name} is {:?} where the format has {kind:?}",
            self.kind
        )))
    }

    /// The value of a boolean field.
    pub(super) fn bool(self, name: &str) -> Result<bool, Damage> {
        match self.kind {
            Kind::True => Ok(true),
            Kind::False => Ok(false),
            other => Err(Damage(format!(
                "field {name} is {other:?} where the format has a boolean"
            ))),
        }
    }
}

/// A position in thrift bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// How many bytes are left.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    fn byte(&mut self) -> Result<u8, Damage> {
        let (first, rest) = self.rest.split_first().ok_or_else(Damage::cut_off)?;
        self.rest = rest;
        Ok(*first)
    }

    fn bytes(&mut self, length: u64) -> Result<&'a [u8], Damage> {
        let length = usize::try_from(length).map_err(|_| Damage::cut_off())?;
        let (head, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(Damage::cut_off)?;
        self.rest = rest;
        Ok(head)
    }

    fn varint(&mut self) -> Result<u64, Damage> {
        take_varint(&mut self.rest, CUT_OFF).map_err(|problem| Damage(problem.to_owned()))
    }

    /// A list of 32-bit numbers.
    pub(super) fn i32_list(&mut self, name: &str) -> Result<Vec<i32>, Damage> {
        match self.list()? {
            (_, 0) => Ok(Vec::new()),
            (Kind::I32, count) => (0..count).map(|_| self.i32()).collect(),
            (other, _) => Err(Damage(format!(
                "the elements of {name} are {other:?} where the format has I32"
            ))),
        }
    }

    /// Passes over the value of a field and returns its bytes.
    pub(super) fn raw(&mut self, field: Field) -> Result<&'a [u8], Damage> {
        let before = self.rest;
        self.skip(field)?;
        Ok(&before[..before.len() - self.rest.len()])
    }

    /// Passes over a struct that is an element of a list and returns its bytes.
    pub(super) fn raw_struct(&mut self) -> Result<&'a [u8], Damage> {
        self.raw(Field {
            id: 0,
            kind: Kind::Struct,
        })
    }

    /// An integer of any width.
    pub(super) fn i64(&mut self) -> Result<i64, Damage> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(super) fn i32(&mut self) -> Result<i32, Damage> {
        let value = self.i64()?;
        i32::try_from(value).map_err(|_| Damage(format!("{value} does not fit 32 bits")))
    }

    fn i16(&mut self) -> Result<i16, Damage> {
        let value = self.i64()?;
        i16::try_from(value).map_err(|_| Damage(format!("{value} does not fit 16 bits")))
    }

    pub(super) fn i8(&mut self) -> Result<i8, Damage> {
        self.byte().map(|byte| byte as i8)
    }

    /// A text or binary value.
    pub(super) fn binary(&mut self) -> Result<&'a [u8], Damage> {
        let length = self.varint()?;
        self.bytes(length)
    }

    pub(super) fn text(&mut self, name: &str) -> Result<&'a str, Damage> {
        std::str::from_utf8(self.binary()?)
            .map_err(|_| Damage(format!("field {name} is not UTF-8 text")))
    }

    /// The next field of a struct, or `None` at its end. `last` is the id of the field before, 0 at
    /// the start of the struct.
    pub(super) fn field(&mut self, last: &mut i16) -> Result<Option<Field>, Damage> {
        let header = self.byte()?;
        if header & 0x0F == 0 {
            return Ok(None);
        }
        let kind = Kind::from_nibble(header & 0x0F)?;
        let id = match i16::from(header >> 4) {
            0 => self.i16()?,
            delta => last
                .checked_add(delta)
                .ok_or_else(|| Damage("a field id does not fit 16 bits".to_owned()))?,
        };
        *last = id;
        Ok(Some(Field { id, kind }))
    }

    /// The kind and number of the elements of a list. Each element takes at least one byte.
    pub(super) fn list(&mut self) -> Result<(Kind, usize), Damage> {
        let header = self.byte()?;
        // Some writers give an empty list no element type.
        if header == 0 {
            return Ok((Kind::I8, 0));
        }
        let kind = Kind::from_nibble(header & 0x0F)?;
        let count = match u64::from(header >> 4) {
            15 => self.varint()?,
            count => count,
        };
        Ok((kind, self.bounded(count)?))
    }

    /// [`Reader::list`], where the format has structs as elements.
    pub(super) fn struct_list(&mut self, name: &str) -> Result<usize, Damage> {
        match self.list()? {
            (_, 0) => Ok(0),
            (Kind::Struct, count) => Ok(count),
            (other, _) => Err(Damage(format!(
                "the elements of {name} are {other:?} where the format has structs"
            ))),
        }
    }

    fn bounded(&self, count: u64) -> Result<usize, Damage> {
        match usize::try_from(count) {
            Ok(count) if count <= self.rest.len() => Ok(count),
            _ => Err(Damage(format!(
                "a list claims {count} elements with {} bytes left",
                self.rest.len()
            ))),
        }
    }

    /// Passes over the value of a field.
    pub(super) fn skip(&mut self, field: Field) -> Result<(), Damage> {
        // What is still open, from the outside in: a stack of its own, so that hostile nesting
        // costs no frames.
        let mut open: Vec<Open> = Vec::new();
        let mut next = match field.kind {
            Kind::True | Kind::False => return Ok(()),
            kind => Some(kind),
        };
        loop {
            if let Some(kind) = next {
                if let Some(opened) = self.skip_scalar(kind)? {
                    if open.len() == MAX_DEPTH {
                        return Err(Damage(format!("it nests deeper than {MAX_DEPTH} levels")));
                    }
                    open.push(opened);
                }
            } else {
                open.pop();
            }
            let Some(innermost) = open.last_mut() else {
                return Ok(());
            };
            next = innermost.next(self)?;
        }
    }

    /// Passes over a value without parts, or over the header of one with parts.
    fn skip_scalar(&mut self, kind: Kind) -> Result<Option<Open>, Damage> {
        match kind {
            Kind::True | Kind::False | Kind::I8 => drop(self.byte()?),
            Kind::I16 | Kind::I32 | Kind::I64 => drop(self.varint()?),
            Kind::Double => drop(self.bytes(8)?),
            Kind::Uuid => drop(self.bytes(16)?),
            Kind::Binary => drop(self.binary()?),
            Kind::Struct => return Ok(Some(Open::Struct { last: 0 })),
            Kind::List | Kind::Set => {
                let (element, left) = self.list()?;
                return Ok(Some(Open::Values {
                    kinds: [element; 2],
                    left,
                }));
            }
            Kind::Map => {
                let count = self.varint()?;
                if count == 0 {
                    return Ok(Some(Open::Values {
                        kinds: [Kind::I8; 2],
                        left: 0,
                    }));
                }
                let kinds = self.byte()?;
                let kinds = [
                    Kind::from_nibble(kinds & 0x0F)?,
                    Kind::from_nibble(kinds >> 4)?,
                ];
                let left = self.bounded(count.saturating_mul(2))?;
                return Ok(Some(Open::Values { kinds, left }));
            }
        }
        Ok(None)
    }
}

/// A value with parts that is being passed over.
enum Open {
    /// A struct, and the id of its last field.
    Struct { last: i16 },
    /// The elements of a list, or the keys and values of a map in turn: `kinds[1]` comes first
    /// where their number is even.
    Values { kinds: [Kind; 2], left: usize },
}

impl Open {
    /// The kind of the next part that has bytes of its own; `None` when the value ends.
    fn next(&mut self, reader: &mut Reader<'_>) -> Result<Option<Kind>, Damage> {
        match self {
            Open::Struct { last } => {
                while let Some(field) = reader.field(last)? {
                    if !matches!(field.kind, Kind::True | Kind::False) {
                        return Ok(Some(field.kind));
                    }
                }
                Ok(None)
            }
            Open::Values { kinds, left } => match left.checked_sub(1) {
                Some(rest) => {
                    *left = rest;
                    Ok(Some(kinds[rest % 2]))
                }
                None => Ok(None),
            },
        }
    }
}
