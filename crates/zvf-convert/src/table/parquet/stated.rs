//! The Arrow schema that writers record in the metadata of a file.
//!
//! The parquet crate merges it with the types of the file. It panics at integers of more than 64 bits, which Polars has, and drops the time zone of
//! timestamps in seconds, which Parquet stores in milliseconds.

use arrow_schema::{DataType, Field, Schema};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema, parquet_to_arrow_schema};
use parquet::file::metadata::{KeyValue, ParquetMetaData};

use crate::table::arrow_check::has_wide_integers;

/// The bytes before a message: a marker and its length.
const HEAD: usize = 8;

/// The column types of the recorded schema, combined with `own`, the types that the file itself states. `None` if no schema is recorded, or if it has
/// another number of columns.
pub(super) fn fields(own: &Schema, metadata: &ParquetMetaData) -> Option<Vec<Field>> {
    let file = metadata.file_metadata();
    let pairs = file.key_value_metadata()?;
    let recorded = recorded(own, pairs);
    let replaced = recorded.as_ref().filter(|(_, is_replaced)| *is_replaced);
    let replaced = replaced.map(|(schema, _)| {
        let text = encode_arrow_schema(schema);
        vec![KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), text)]
    });
    let pairs = replaced.as_ref().unwrap_or(pairs);
    let merged = parquet_to_arrow_schema(file.schema_descr(), Some(pairs)).ok()?;
    let fits = merged.fields().len() == own.fields().len();
    let mut merged: Vec<Field> = fits.then(|| {
        let fields = merged.fields().iter();
        fields.map(|field| field.as_ref().clone()).collect()
    })?;
    if let Some((recorded, _)) = recorded {
        for (field, recorded) in merged.iter_mut().zip(recorded.fields()) {
            if let (DataType::Timestamp(unit, Some(_)), DataType::Timestamp(_, Some(zone))) =
                (field.data_type(), recorded.data_type())
            {
                let zoned = DataType::Timestamp(*unit, Some(zone.clone()));
                field.set_data_type(zoned);
            }
        }
    }
    Some(merged)
}

/// The schema that the writer recorded, and whether it has types that Arrow cannot represent. Columns of such types have the types of the file
/// instead.
fn recorded(own: &Schema, pairs: &[KeyValue]) -> Option<(Schema, bool)> {
    let mut values = pairs
        .iter()
        .filter(|pair| pair.key == ARROW_SCHEMA_META_KEY);
    let bytes = STANDARD.decode(values.next()?.value.as_ref()?).ok()?;
    let message = match bytes.split_at_checked(HEAD) {
        Some((head, message)) if head.starts_with(&[0xff; 4]) => message,
        _ => bytes.as_slice(),
    };
    let message = arrow_ipc::root_as_message(message).ok()?;
    let fields = message.header_as_schema()?.fields()?;
    if fields.len() != own.fields().len() {
        return None;
    }
    let mut is_replaced = false;
    let fields =
        fields
            .iter()
            .zip(own.fields())
            .map(|(field, own)| match has_wide_integers(field) {
                true => {
                    is_replaced = true;
                    own.as_ref().clone()
                }
                false => Field::from(field),
            });
    let fields: Vec<Field> = fields.collect();
    Some((Schema::new(fields), is_replaced))
}
