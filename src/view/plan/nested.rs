//! Structs, lists and maps of a table over the groups of a file.

use super::{Planner, missing, required_but_missing};
use crate::parquet::{Annotation, Levels, Node, OutputNode, Repetition};
use crate::schema::{ArrayType, DataType, MapType, StructType, column_path};
use crate::view::Mismatch;
use crate::view::mismatch::key_and_value;
use crate::view::schema::shown_fields;

impl Planner<'_> {
    pub(super) fn structure(
        &self,
        fields: &StructType,
        node: &Node,
        levels: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        self.refuse_hidden(fields, node.children(), column)?;
        let mut made = Vec::with_capacity(fields.fields.len());
        for field in shown_fields(fields) {
            made.push(match self.find(field, node.children(), column)? {
                Some(child) => self.field(field, child, levels, column)?,
                None if field.nullable => {
                    let absence = missing::beside(self.footer, node, levels);
                    missing::missing(field, self.mapping, &absence)?
                }
                None => return Err(required_but_missing(field, column)),
            });
        }
        if made.is_empty() {
            let expected = DataType::Struct(fields.clone());
            return Err(Mismatch::of(column, node, expected));
        }
        Ok(OutputNode::group(
            &node.name,
            node.repetition,
            Annotation::None,
            made,
        ))
    }

    /// The list that `node` presents, which lies around `repeated`.
    ///
    /// A repeated leaf, a repeated group with several fields, and one that is called `array` or
    /// `<name of the list>_tuple` is the element itself (parquet-format, "LogicalTypes.md", "Lists");
    /// any other holds the element. Where that rule and the table's type disagree, the type
    /// decides: writers have not always kept to the rule.
    pub(super) fn list(
        &self,
        array: &ArrayType,
        node: &Node,
        repeated: &Node,
        list: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        let is_element = repeated.name == "array"
            || repeated.name == format!("{}_tuple", node.name)
            || repeated.annotation != Annotation::None;
        let as_element = || self.repeated_element(array, repeated, list, column);
        let as_wrapper = |child| {
            let name = if is_element { "list" } else { &repeated.name };
            let levels = list.below(repeated.repetition);
            let column = column_path(column, "element");
            let element = self.part(&array.element_type, child, levels, &column)?;
            Ok(repeated_group(name, vec![element]))
        };
        let entries = match repeated.children() {
            [child] if is_element => {
                as_element().or_else(|refused| as_wrapper(child).map_err(|_| refused))
            }
            [child] => as_wrapper(child).or_else(|refused| as_element().map_err(|_| refused)),
            _ => as_element(),
        }?;
        Ok(list_of(entries, node, node.repetition))
    }

    /// The list that a repeated node without a list around it stands for.
    pub(super) fn bare_list(
        &self,
        array: &ArrayType,
        node: &Node,
        parent: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        let entries = self.repeated_element(array, node, parent, column)?;
        Ok(list_of(entries, node, Repetition::Required))
    }

    /// The repeated node of a list whose elements are the repeated node of the file: the element,
    /// required, is put below a repeated group, which leaves the levels as they are.
    fn repeated_element(
        &self,
        array: &ArrayType,
        repeated: &Node,
        list: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        let column = column_path(column, "element");
        let element = self.value(&array.element_type, repeated, list, &column)?;
        let element = OutputNode {
            repetition: Repetition::Required,
            ..element.named("element")
        };
        Ok(repeated_group("list", vec![element]))
    }

    /// The map that `node` presents, which lies around `entries`.
    pub(super) fn map(
        &self,
        map: &MapType,
        node: &Node,
        entries: &Node,
        levels: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        let (key, value) = key_and_value(entries, column)?;
        let below = levels.below(entries.repetition);
        let parts = vec![
            self.part(&map.key_type, key, below, &column_path(column, "key"))?,
            self.part(&map.value_type, value, below, &column_path(column, "value"))?,
        ];
        Ok(OutputNode::group(
            &node.name,
            node.repetition,
            Annotation::Map,
            vec![repeated_group(&entries.name, parts)],
        ))
    }
}

/// The list that `node` presents, around its repeated node.
fn list_of(entries: OutputNode, node: &Node, repetition: Repetition) -> OutputNode {
    OutputNode::group(&node.name, repetition, Annotation::List, vec![entries])
}

fn repeated_group(name: &str, children: Vec<OutputNode>) -> OutputNode {
    OutputNode::group(name, Repetition::Repeated, Annotation::None, children)
}
