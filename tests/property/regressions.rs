//! Tables that were shown wrongly once, or that chance takes too long to come by.

use super::checks;
use super::tables::{Case, Change, Deletions, Part, Primitive, Style};

fn check(case: &Case) {
    checks::check(case, &mut checks::Classes::new());
}

fn integer() -> Part {
    Part::of(Primitive::Integer)
}

fn added(part: Part) -> Change {
    Change::Add {
        to: 1,
        position: 0,
        part,
        again: false,
    }
}

#[test]
fn a_list_or_a_map_is_added_to_a_struct_that_is_null_in_places() {
    for part in [Part::list(integer()), Part::map(Part::list(integer()))] {
        check(&Case {
            changes: vec![added(part)],
            ..Case::plain(vec![Part::structure(vec![integer()])])
        });
    }
}

#[test]
fn a_field_is_added_to_a_struct_of_nothing_but_lists() {
    for deletions in [Deletions::None, Deletions::Random(4)] {
        for list in [Part::list(integer()), Part::list(Part::list(integer()))] {
            for part in [integer(), Part::map(integer())] {
                check(&Case {
                    changes: vec![added(part)],
                    deletions: deletions.clone(),
                    ..Case::plain(vec![Part::structure(vec![list.clone()])])
                });
            }
        }
    }
}

/// More rows than one page of a made chunk has.
#[test]
fn row_groups_of_many_pages_lose_rows_and_are_widened() {
    for (primitive, distinct) in [
        (Primitive::Integer, 0),
        (Primitive::Byte, 4),
        (Primitive::Decimal(5, 2), 0),
    ] {
        for deletions in [Deletions::None, Deletions::Random(2)] {
            let plain = Case::plain(vec![
                Part::of(primitive),
                Part::list(Part::of(primitive)),
                Part::of(Primitive::Boolean),
            ]);
            check(&Case {
                changes: (0..2)
                    .map(|leaf| Change::Widen {
                        leaf,
                        choice: 0,
                        digits: 3,
                        places: 2,
                    })
                    .collect(),
                deletions,
                style: Style {
                    rows: 45_000,
                    group_rows: 30_000,
                    page_rows: 7_000,
                    dictionary: distinct > 0,
                    distinct,
                    ..plain.style
                },
                ..plain
            });
        }
    }
}
