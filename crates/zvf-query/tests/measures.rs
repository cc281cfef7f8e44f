//! Measures of lines, compared with sums over the input rows.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use zvf_query::{Filter, Measures, Query};
use zvf_store::Store;

use crate::joint::{Line, lines, stored};
use crate::make::{Made, place};
use crate::support::{ask, column, memory};

/// Id, points, length, and coordinates: first, last, least, largest.
type Row = (i64, u64, Option<f64>, [Option<[f64; 3]>; 4]);

async fn measured(store: &Store, query: Query, means: &[String]) -> Vec<Row> {
    let measures = Measures::start(store, query, means).await.unwrap();
    let mut measures = measures.with_ends().unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = measures.next().await.unwrap() {
        let number = |name: &str, row: usize| {
            let column = batch.column_by_name(name).unwrap();
            let column = column.as_primitive::<Float64Type>();
            (!arrow_array::Array::is_null(column, row)).then(|| column.value(row))
        };
        for row in 0..batch.num_rows() {
            let place = |word: &str| {
                let axes = ["x", "y", "z"].map(|axis| number(&format!("{word}_{axis}"), row));
                let [x, y, z] = axes;
                Some([x?, y?, z?])
            };
            let id = batch.column_by_name("object_id").unwrap();
            let points = batch.column_by_name("points").unwrap();
            rows.push((
                id.as_primitive::<Int64Type>().value(row),
                points.as_primitive::<UInt64Type>().value(row),
                number("length", row),
                ["start", "end", "min", "max"].map(place),
            ));
        }
    }
    rows
}

fn expected(line: &Line) -> Row {
    let double = |row: [f32; 3]| row.map(f64::from);
    let extreme = |pick: fn(f64, f64) -> f64| {
        let rows = line.rows.iter().copied().map(double);
        rows.reduce(|a, b| [0, 1, 2].map(|axis| pick(a[axis], b[axis])))
    };
    let ends = [line.rows.first(), line.rows.last()].map(|row| row.copied().map(double));
    let length = (!line.rows.is_empty()).then(|| line.length());
    let places = [ends[0], ends[1], extreme(f64::min), extreme(f64::max)];
    (line.id, line.rows.len() as u64, length, places)
}

/// Sums in another order may differ in their last digits.
fn compare(found: Vec<Row>, expected: Vec<Row>) {
    let rounded = |rows: Vec<Row>| {
        let round = |length: f64| (length * 1e9).round();
        let rows = rows.into_iter();
        rows.map(|(id, points, length, places)| (id, points, length.map(round), places))
            .collect::<Vec<_>>()
    };
    assert_eq!(rounded(found), rounded(expected));
}

#[tokio::test]
async fn lines_are_measured_across_chunks_in_any_number_of_passes() {
    let lines = lines();
    let store = stored(&lines).await;
    let s = ["s".to_owned()];
    for (memory_budget, means) in [(1, &[][..]), (300, &[]), (64 << 20, &[]), (64 << 20, &s)] {
        let all = Query {
            memory_budget,
            ..Query::default()
        };
        let found = measured(&store, all.clone(), means).await;
        if means.is_empty() {
            lengths_of_conditions(&store, &found).await;
        }
        compare(found, lines.iter().map(expected).collect());
        let picks = [31, 2, 50].map(|number: usize| &lines[number]);
        let some = Query {
            objects: Some(picks.iter().map(|line| line.id).collect()),
            ..all
        };
        let found = measured(&store, some, means).await;
        compare(found, picks.iter().map(|line| expected(line)).collect());
    }
}

/// Objects whose manifest has a fragment without rows, or the rows of another object, or no fragment at all.
#[tokio::test]
async fn fragments_without_rows_do_not_divide_lines() {
    let line = |id: i64, count: usize| Line {
        id,
        rows: (0..count).map(|x| [x as f32 * 4.0, 5.0, 5.0]).collect(),
        s: Vec::new(),
        own: None,
    };
    let mut all = vec![line(7, 9), line(8, 3)];
    let pairs: Vec<_> = all
        .iter()
        .map(|line| (line.id, line.rows.clone()))
        .collect();
    let mut made = Made::streamlines(&pairs);
    let chunk = *made.chunks.keys().next().unwrap();
    let empty = made.chunks[&chunk].fragments.len() as i64;
    made.chunks
        .get_mut(&chunk)
        .unwrap()
        .fragments
        .push(Vec::new());
    let objects = made.objects.as_mut().unwrap();
    // Between two fragments, and at both ends.
    objects[0].1.insert(1, (chunk, empty));
    objects[1].1.insert(0, (chunk, empty));
    objects[1].1.push((chunk, empty));
    let shared = objects[0].1.clone();
    objects.push((9, shared));
    objects.push((10, vec![(chunk, empty)]));
    objects.push((11, Vec::new()));
    all.extend([line(9, 9), line(10, 0), line(11, 0)]);
    let store = memory(&made.files()).await;
    let found = measured(&store, Query::default(), &[]).await;
    compare(found, all.iter().map(expected).collect());
}

/// Links of lines may be stored, like the links of graphs: here each vertex is linked to the one after the next.
#[tokio::test]
async fn lengths_are_along_stored_links() {
    let lines = lines();
    let pairs: Vec<_> = lines
        .iter()
        .map(|line| (line.id, line.rows.clone()))
        .collect();
    let mut made = Made::streamlines(&pairs);
    made.convention = "explicit";
    let mut counts = BTreeMap::new();
    let mut records = Vec::new();
    for line in &lines {
        let places = line.rows.iter().map(|row| {
            let chunk = Made::chunk_of(*row, made.chunk_shape);
            let count = counts.entry(chunk).or_insert(0_i64);
            *count += 1;
            (chunk, *count - 1)
        });
        let places: Vec<_> = places.collect();
        let linked = places.iter().zip(places.iter().skip(2));
        records.extend(linked.map(|(from, to)| vec![*from, *to]));
    }
    made.links = Some(place(&records, false));
    let store = memory(&made.files()).await;
    let along = |line: &Line| {
        let even = |first: usize| line.rows.iter().skip(first).step_by(2).copied().collect();
        let length = |rows| {
            Line {
                rows,
                ..other(line)
            }
            .length()
        };
        length(even(0)) + length(even(1))
    };
    let of = |line: &Line| {
        let (id, points, length, places) = expected(line);
        (id, points, length.map(|_| along(line)), places)
    };
    let found = measured(&store, Query::default(), &[]).await;
    compare(found.clone(), lines.iter().map(of).collect());
    lengths_of_conditions(&store, &found).await;
    let long = lines
        .iter()
        .filter(|line| along(line) > 20.0 && line.rows[0][0] < 30.0);
    let long: Vec<String> = long.map(|line| line.id.to_string()).collect();
    let query = Query {
        filter: Some(Filter::parse("length() > 20 and start.x < 30").unwrap()),
        ..Query::default()
    };
    let got = ask(&store, query).await.unwrap();
    assert_eq!(column(got.objects.as_ref().unwrap(), "object_id"), long);
    assert!(!long.is_empty() && long.len() < lines.len());
}

/// `length()` in conditions equals the length that measures return, bit for bit.
async fn lengths_of_conditions(store: &Store, measured: &[Row]) {
    for (id, _, length, _) in measured {
        let Some(length) = length else { continue };
        let condition = format!("object_id == {id} and length() == {length:?}");
        let query = Query {
            filter: Some(Filter::parse(&condition).unwrap()),
            ..Query::default()
        };
        let got = ask(store, query).await.unwrap();
        let found = column(got.objects.as_ref().unwrap(), "object_id");
        assert_eq!(found, [id.to_string()], "{condition}");
    }
}

/// A line of the same id without rows.
fn other(line: &Line) -> Line {
    Line {
        id: line.id,
        rows: Vec::new(),
        s: Vec::new(),
        own: None,
    }
}
