//! Which types widen to which, and how a table remembers it (PROTOCOL.md, "Type Widening").

use serde_json::{Map, Value, json};

use crate::schema::PrimitiveType;

/// The metadata key of the changes that a column went through.
const TYPE_CHANGES: &str = "delta.typeChanges";

/// Which types may widen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Widening {
    /// What is stored in the same way anyway: `byte`, `short` and `integer`.
    Free,
    /// What Delta changes by itself where the table enables type widening; each change is recorded.
    Recorded,
    /// The same without a record: no file of the old type stays.
    Any,
}

impl Widening {
    /// Whether `from` may become `to`.
    pub(super) fn allows(self, from: PrimitiveType, to: PrimitiveType) -> bool {
        use PrimitiveType as P;
        match (from, to) {
            (P::Byte, P::Short | P::Integer) | (P::Short, P::Integer) => true,
            _ if self == Widening::Free => false,
            (P::Byte | P::Short | P::Integer, P::Long)
            | (P::Float, P::Double)
            | (P::Date, P::TimestampNtz) => true,
            (
                P::Decimal { precision, scale },
                P::Decimal {
                    precision: wider,
                    scale: longer,
                },
            ) => longer >= scale && wider.checked_sub(longer) >= precision.checked_sub(scale),
            _ => false,
        }
    }
}

/// Where a change of a type is recorded: at the nearest field, with the path from there.
pub(super) struct Place<'a> {
    metadata: &'a mut Map<String, Value>,
    path: Vec<&'static str>,
}

impl<'a> Place<'a> {
    /// At a field.
    pub(super) fn of(metadata: &'a mut Map<String, Value>) -> Place<'a> {
        Place {
            metadata,
            path: Vec::new(),
        }
    }

    /// Calls `visit` one step further.
    pub(super) fn within<T>(
        &mut self,
        step: &'static str,
        visit: impl FnOnce(&mut Place<'a>) -> T,
    ) -> T {
        self.path.push(step);
        let result = visit(self);
        self.path.pop();
        result
    }

    /// Records a change.
    pub(super) fn record(&mut self, from: PrimitiveType, to: PrimitiveType) {
        let mut change = json!({"fromType": from.to_string(), "toType": to.to_string()});
        if !self.path.is_empty() {
            change["fieldPath"] = self.path.join(".").into();
        }
        match self.metadata.get_mut(TYPE_CHANGES) {
            Some(Value::Array(changes)) => changes.push(change),
            _ => {
                let changes = Value::Array(vec![change]);
                self.metadata.insert(TYPE_CHANGES.to_owned(), changes);
            }
        }
    }
}
