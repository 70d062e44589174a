//! Makes a small Delta table of five versions, to have something to mount:
//! `cargo run --example orders -- DIR`.
//!
//! The table is written by hand, as PROTOCOL.md describes it: Parquet files, and one commit file of
//! JSON actions a version. The commits are dated one day apart, the last one yesterday at 10:00 UTC.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example is a program of its own, outside the floors of the library"
)]

use std::error::Error;
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};
use uuid::Uuid;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const TEN_O_CLOCK: Duration = Duration::from_secs(10 * 60 * 60);
const VERSIONS: u32 = 5;
const COUNTRIES: [&str; 4] = ["DE", "FR", "JP", "US"];

struct Order {
    id: i64,
    customer: Option<String>,
    country: &'static str,
    amount: f64,
}

/// The orders with these numbers, always the same ones.
fn orders(ids: std::ops::Range<i64>) -> Vec<Order> {
    ids.map(|id| {
        let mixed = (id as u64).wrapping_mul(6_364_136_223_846_793_005) >> 33;
        Order {
            id,
            customer: (!mixed.is_multiple_of(11)).then(|| format!("customer {}", mixed % 97)),
            country: COUNTRIES[(mixed % 4) as usize],
            amount: (mixed % 20_000) as f64 / 100.0,
        }
    })
    .collect()
}

/// A table under construction.
struct Table {
    root: PathBuf,
    first_commit: SystemTime,
    version: u32,
}

impl Table {
    fn create(root: &Path) -> Result<Table> {
        if root.exists() {
            return Err(format!(
                "{} exists already: name a directory that does not",
                root.display()
            )
            .into());
        }
        fs::create_dir_all(root.join("_delta_log"))?;
        let today = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / DAY.as_secs();
        let yesterday = UNIX_EPOCH + Duration::from_secs(today * DAY.as_secs()) - DAY;
        Ok(Table {
            root: root.to_owned(),
            first_commit: yesterday + TEN_O_CLOCK - DAY * (VERSIONS - 1),
            version: 0,
        })
    }

    fn time(&self) -> SystemTime {
        self.first_commit + DAY * self.version
    }

    fn time_ms(&self) -> Result<u64> {
        Ok(u64::try_from(
            self.time().duration_since(UNIX_EPOCH)?.as_millis(),
        )?)
    }

    /// Writes a data file and returns its `add`.
    fn write(&self, orders: &[Order]) -> Result<Value> {
        let ids: Vec<i64> = orders.iter().map(|order| order.id).collect();
        let customers: Vec<Option<&str>> = orders
            .iter()
            .map(|order| order.customer.as_deref())
            .collect();
        let countries: Vec<&str> = orders.iter().map(|order| order.country).collect();
        let amounts: Vec<f64> = orders.iter().map(|order| order.amount).collect();
        let statistics = json!({
            "numRecords": orders.len(),
            "minValues": {"order_id": ids.iter().min(), "country": countries.iter().min()},
            "maxValues": {"order_id": ids.iter().max(), "country": countries.iter().max()},
            "nullCount": {
                "order_id": 0,
                "customer": customers.iter().filter(|customer| customer.is_none()).count(),
                "country": 0,
                "amount": 0,
            },
        });
        let batch = RecordBatch::try_from_iter_with_nullable([
            (
                "order_id",
                Arc::new(Int64Array::from(ids)) as ArrayRef,
                true,
            ),
            ("customer", Arc::new(StringArray::from(customers)), true),
            ("country", Arc::new(StringArray::from(countries)), true),
            ("amount", Arc::new(Float64Array::from(amounts)), true),
        ])?;

        let name = format!("part-00000-{}-c000.snappy.parquet", Uuid::new_v4());
        let path = self.root.join(&name);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .build();
        let mut writer =
            ArrowWriter::try_new(File::create_new(&path)?, batch.schema(), Some(properties))?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(json!({"add": {
            "path": name,
            "partitionValues": {},
            "size": fs::metadata(&path)?.len(),
            "modificationTime": self.time_ms()?,
            "dataChange": true,
            "stats": statistics.to_string(),
        }}))
    }

    /// The `remove` that cancels an `add`.
    fn remove(&self, add: &Value) -> Result<Value> {
        Ok(json!({"remove": {
            "path": add["add"]["path"],
            "deletionTimestamp": self.time_ms()?,
            "dataChange": true,
            "extendedFileMetadata": true,
            "partitionValues": {},
            "size": add["add"]["size"],
        }}))
    }

    /// Writes the commit file of the next version.
    fn commit(&mut self, operation: &str, parameters: Value, actions: &[Value]) -> Result<()> {
        let info = json!({"commitInfo": {
            "timestamp": self.time_ms()?,
            "operation": operation,
            "operationParameters": parameters,
            "engineInfo": "deltafs example",
        }});
        let lines: String = std::iter::once(&info)
            .chain(actions)
            .map(|action| format!("{action}\n"))
            .collect();
        let path = self
            .root
            .join(format!("_delta_log/{:020}.json", self.version));
        fs::write(&path, lines)?;
        // The time of a version is the modification time of its commit file.
        File::open(&path)?.set_times(FileTimes::new().set_modified(self.time()))?;
        self.version += 1;
        Ok(())
    }
}

fn schema() -> Value {
    let column = |name: &str, kind: &str| json!({"name": name, "type": kind, "nullable": true, "metadata": {}});
    json!({"type": "struct", "fields": [
        column("order_id", "long"),
        column("customer", "string"),
        column("country", "string"),
        column("amount", "double"),
    ]})
}

fn make(root: &Path) -> Result<()> {
    let mut table = Table::create(root)?;
    let created = [
        json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}),
        json!({"metaData": {
            "id": Uuid::new_v4().to_string(),
            "name": "orders",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema().to_string(),
            "partitionColumns": [],
            "configuration": {},
            "createdTime": table.time_ms()?,
        }}),
    ];
    table.commit("CREATE TABLE", json!({}), &created)?;

    let append = || json!({"mode": "Append"});
    let first = table.write(&orders(0..1000))?;
    table.commit("WRITE", append(), std::slice::from_ref(&first))?;
    let second = table.write(&orders(1000..1500))?;
    table.commit("WRITE", append(), std::slice::from_ref(&second))?;

    // A row is deleted by writing its file again without it.
    let mut kept = orders(0..1000);
    kept.retain(|order| order.country != "FR");
    let rewritten = table.write(&kept)?;
    let actions = [table.remove(&first)?, rewritten.clone()];
    table.commit(
        "DELETE",
        json!({"predicate": "order_id < 1000 and country = 'FR'"}),
        &actions,
    )?;

    let new = table.write(&orders(2000..2200))?;
    let actions = [table.remove(&second)?, table.remove(&rewritten)?, new];
    table.commit("WRITE", json!({"mode": "Overwrite"}), &actions)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(root), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: orders DIR    (DIR must not exist)");
        return ExitCode::from(2);
    };
    match make(Path::new(&root)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("orders: {error}");
            ExitCode::FAILURE
        }
    }
}
