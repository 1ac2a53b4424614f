//! The tables of a run as Parquet files, compressed with Snappy, every column optional.

use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use plimsoll_model::run::Run;

pub use parquet::errors::ParquetError;

use crate::table::{ColumnValues, RunTable};

/// A table of a run.
///
/// # Errors
/// When the library refuses the table; nothing is written to disk here.
pub fn render(run: &Run, table: RunTable) -> Result<Vec<u8>, ParquetError> {
    let (name, table) = (table.name(), table.of(run));
    let fields: String = table
        .columns
        .iter()
        .map(|column| match column.values {
            ColumnValues::Counts(_) => format!("OPTIONAL INT64 {};\n", column.name),
            ColumnValues::Numbers(_) => format!("OPTIONAL DOUBLE {};\n", column.name),
            ColumnValues::Texts(_) => format!("OPTIONAL BINARY {} (STRING);\n", column.name),
        })
        .collect();
    let schema = Arc::new(parse_message_type(&format!(
        "message {name} {{\n{fields}}}"
    ))?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in &table.columns {
        let mut writer = group
            .next_column()?
            .expect("the schema has a field for every column");
        match &column.values {
            // Parquet's whole numbers are signed; a count beyond 2^63 is not reached.
            ColumnValues::Counts(values) => write::<Int64Type, _>(&mut writer, values, |&count| {
                i64::try_from(count).unwrap_or(i64::MAX)
            }),
            ColumnValues::Numbers(values) => {
                write::<DoubleType, _>(&mut writer, values, |&number| number)
            }
            ColumnValues::Texts(values) => write::<ByteArrayType, _>(&mut writer, values, |text| {
                ByteArray::from(text.as_str())
            }),
        }?;
        writer.close()?;
    }
    group.close()?;
    writer.into_inner()
}

/// Writes a column: the present values, and for each row whether there is one.
fn write<T: DataType, V>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[Option<V>],
    convert: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let present: Vec<T::T> = values.iter().flatten().map(convert).collect();
    let levels: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    writer
        .typed::<T>()
        .write_batch(&present, Some(&levels), None)?;
    Ok(())
}
