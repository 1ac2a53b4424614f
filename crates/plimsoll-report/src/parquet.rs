//! The tables of a run as Parquet files, compressed with Snappy, every column optional.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use plimsoll_model::run::Run;

pub use parquet::errors::ParquetError;

use crate::export_table::{Column, ColumnValues, ExportTable, RunTable};

/// A table of a run.
///
/// # Errors
/// When the library refuses the table; nothing is written to disk here.
pub fn render(run: &Run, table: RunTable) -> Result<Vec<u8>, ParquetError> {
    file(table.name(), &table.of(run))
}

/// A table as a file; names of columns may be any text.
pub(crate) fn file(name: &str, table: &ExportTable) -> Result<Vec<u8>, ParquetError> {
    let fields = table.columns.iter().map(field);
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder(name).with_fields(fields).build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
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

/// The type of a column.
fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.values {
        ColumnValues::Counts(_) => (PhysicalType::INT64, None),
        ColumnValues::Numbers(_) => (PhysicalType::DOUBLE, None),
        ColumnValues::Texts(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
        .map(Arc::new)
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
