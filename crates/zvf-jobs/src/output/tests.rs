//! Tests the writers with a table that has columns of all kinds.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use arrow_array::types::UInt8Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Float32Array, Int64Array, RecordBatch,
};
use arrow_ipc::reader::FileReader;
use arrow_schema::{DataType, Field, Schema};
use serde_json::Value;

use super::*;

/// Bytes that a test can read after the writer was dropped.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn list(width: i32, values: Vec<f32>) -> ArrayRef {
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    Arc::new(FixedSizeListArray::new(
        item,
        width,
        Arc::new(Float32Array::from(values)),
        None,
    ))
}

fn table() -> RecordBatch {
    let labels: DictionaryArray<UInt8Type> =
        vec![Some("axon"), None, Some("a,b")].into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("position", list(2, vec![0.5, 1.0, 2.0, -3.0, 4.0, 5.0])),
        ("color", list(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
        ("label", Arc::new(labels)),
        (
            "object_id",
            Arc::new(Int64Array::from(vec![Some(-4), None, Some(i64::MAX)])),
        ),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let metadata = HashMap::from([(
        "zvf.axes".to_owned(),
        r#"[{"name":"y"},{"name":"x"}]"#.to_owned(),
    )]);
    let schema = Schema::new(fields).with_metadata(metadata);
    RecordBatch::try_new(
        Arc::new(schema),
        columns.into_iter().map(|(_, array)| array).collect(),
    )
    .unwrap()
}

fn written(format: TableFormat) -> Vec<u8> {
    let (out, batch) = (Shared::default(), table());
    let mut writer = table_writer(format, out.clone(), &batch.schema()).unwrap();
    // Written in two parts to test slices.
    writer.write(&batch.slice(0, 1)).unwrap();
    writer.write(&batch.slice(1, 2)).unwrap();
    writer.finish().unwrap();
    out.bytes()
}

#[test]
fn csv_flattens() {
    let text = String::from_utf8(written(TableFormat::Csv)).unwrap();
    let want = "y,x,color_0,color_1,label,object_id\n\
                0.5,1.0,1.0,2.0,axon,-4\n\
                2.0,-3.0,3.0,4.0,,\n\
                4.0,5.0,5.0,6.0,\"a,b\",9223372036854775807\n";
    assert_eq!(text, want);
}

#[test]
fn ndjson_is_one_object_a_line() {
    let text = String::from_utf8(written(TableFormat::Ndjson)).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        text.lines().nth(1),
        Some(r#"{"position":[2.0,-3.0],"color":[3.0,4.0],"label":null,"object_id":null}"#)
    );
}

#[test]
fn arrow_reads_back() {
    let reader = FileReader::try_new(io::Cursor::new(written(TableFormat::Arrow)), None).unwrap();
    assert_eq!(reader.schema(), table().schema());
    let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 3);
}

#[test]
fn npy_is_the_same_on_a_pipe_and_in_a_file() {
    let piped = written(TableFormat::Npy);
    assert_eq!(piped.len(), 128 + 3 * 2 * 4);
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("p.npy");
    let mut file = TableFile::create(&path, TableFormat::Npy, &table().schema()).unwrap();
    file.write(&table()).unwrap();
    file.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), piped);
}

#[test]
fn axis_names_give_way_to_attributes() {
    let batch = table();
    let mut fields: Vec<Field> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    fields.push(Field::new("x", DataType::Float32, true));
    let schema = Schema::new(fields).with_metadata(batch.schema().metadata().clone());
    assert_eq!(
        zvf_convert::output::column_names(&schema),
        [
            "position_y",
            "position_x",
            "color_0",
            "color_1",
            "label",
            "object_id",
            "x"
        ]
    );
}
