//! Counts and sums the orders in a directory of Parquet files, such as a version of a mounted table:
//! `cargo run --example totals -- /mnt/orders/@v1`.
//!
//! It knows nothing of Delta: it reads every Parquet file it finds, as other tools do.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example is a program of its own, outside the floors of the library"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Float64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

type Totals = BTreeMap<String, (u64, f64)>;

fn read(directory: &Path) -> Result<Totals, Box<dyn Error>> {
    let mut totals = Totals::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            for batch in ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()? {
                add(&mut totals, &batch?)?;
            }
        }
    }
    Ok(totals)
}

fn add(totals: &mut Totals, batch: &RecordBatch) -> Result<(), Box<dyn Error>> {
    let country = batch
        .column_by_name("country")
        .and_then(|column| column.as_string_opt::<i32>())
        .ok_or("no text column `country`")?;
    let amount = batch
        .column_by_name("amount")
        .and_then(|column| column.as_primitive_opt::<Float64Type>())
        .ok_or("no double column `amount`")?;
    for (country, amount) in country.iter().zip(amount.iter()) {
        let (count, sum) = totals.entry(country.unwrap_or("-").to_owned()).or_default();
        *count += 1;
        *sum += amount.unwrap_or_default();
    }
    Ok(())
}

fn print(totals: &Totals) {
    println!("country  orders      amount");
    for (country, (count, sum)) in totals {
        println!("{country:<7}  {count:>6}  {sum:>10.2}");
    }
    let count: u64 = totals.values().map(|(count, _)| count).sum();
    let sum: f64 = totals.values().map(|(_, sum)| sum).sum();
    println!("all      {count:>6}  {sum:>10.2}");
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(directory), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: totals DIR    (DIR holds Parquet files of the orders table)");
        return ExitCode::from(2);
    };
    match read(Path::new(&directory)) {
        Ok(totals) => {
            print(&totals);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("totals: {}: {error}", directory.display());
            ExitCode::FAILURE
        }
    }
}
