//! Columns of one value in every row.

use arrow::array::{BooleanArray, Float64Array, Int32Array};

use super::*;

fn constant_of(column: ArrayRef) -> Option<String> {
    let footer = read(file_of(&[("a", column)], 2)).unwrap();
    footer.constant(0).map(|constant| format!("{constant:?}"))
}

#[test]
fn equal_bounds_in_all_row_groups_prove_a_constant() {
    let value = |bytes: &[u8]| Some(format!("{:?}", Constant::Value(bytes)));
    assert_eq!(
        constant_of(Arc::new(Int32Array::from(vec![7, 7, 7]))),
        value(&[7, 0, 0, 0])
    );
    assert_eq!(
        constant_of(Arc::new(StringArray::from(vec!["US"; 5]))),
        value(b"US")
    );
    assert_eq!(
        constant_of(Arc::new(BooleanArray::from(vec![true; 3]))),
        value(&[1])
    );
    let nulls = Int32Array::from(vec![None::<i32>; 3]);
    assert_eq!(constant_of(Arc::new(nulls)).as_deref(), Some("Null"));
    let nothing: Vec<i32> = vec![];
    assert_eq!(
        constant_of(Arc::new(Int32Array::from(nothing))).as_deref(),
        Some("NoRows")
    );
}

#[test]
fn without_proof_there_is_no_constant() {
    let columns: [ArrayRef; 5] = [
        Arc::new(Int32Array::from(vec![7, 8])),
        Arc::new(Int32Array::from(vec![7, 7, 8])),
        Arc::new(Int32Array::from(vec![Some(7), None])),
        Arc::new(Int32Array::from(vec![Some(7), Some(7), None])),
        // Longer than the bounds that the writer keeps.
        Arc::new(StringArray::from(vec!["x".repeat(100)])),
    ];
    for column in columns {
        assert_eq!(constant_of(column), None);
    }
    let float = Float64Array::from(vec![1.0, f64::NAN]);
    assert!(
        constant_of(Arc::new(float)).is_some(),
        "callers leave floating point out"
    );
    let footer = read(small_file()).unwrap();
    assert_eq!(footer.constant(99), None, "no such leaf");
}
