//! Stores of every generation before and after 0.9.2, compared with their input; most of them are made by an
//! independent writer, `xtask/python/made.py`. These tests query what is specific to one case; boxes, objects and groups are
//! queried as for any other bundled store.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use serde_json::Value;
use zvf_query::{Column, Query, Table, list_links};
use zvf_store::{Need, OpenOptions, Store};

use crate::support::{ask, bundled, column};

macro_rules! stores {
    ($($name:ident: $case:literal,)*) => {
        const ALL: &[&str] = &[$($case),*];

        $(#[tokio::test]
        async fn $name() {
            crate::fixtures::check($case, &bundled($case).await).await;
        })*
    };
}

stores! {
    v06_points: "0.6/points",
    v06_streamlines: "0.6/streamlines",
    v07_chunked_points: "0.7/chunked_points",
    v07_chunked_streamlines: "0.7/chunked_streamlines",
    v07_explicit_fragments: "0.7/explicit",
    v07_forest_has_no_false_edges: "0.7/forest",
    v07_graph: "0.7/graph",
    v07_link_attributes_of_both_families: "0.7/graph_attributes",
    v07_placeholder_family_of_width_2: "0.7/inside_mesh",
    v07_lines: "0.7/lines",
    v07_masks: "0.7/masks",
    v07_mesh: "0.7/mesh",
    v07_plain_child_wins_over_its_pack: "0.7/packed_overlap",
    v07_packed_points: "0.7/packed_points",
    v07_points_2d_f8: "0.7/points_2d_f8",
    v07_points_4d_sharded: "0.7/points_4d_sharded",
    v07_points_bins: "0.7/points_bins",
    v07_points_ids: "0.7/points_ids",
    v07_pyramid: "0.7/pyramid",
    v07_quads_of_two_objects: "0.7/quads",
    v07_real_mesh: "0.7/real_mesh",
    v07_real_skeleton: "0.7/real_skeleton",
    v07_real_synapses: "0.7/real_synapses",
    v07_real_tractogram: "0.7/real_tractogram",
    v07_sides: "0.7/sides",
    v07_skeleton: "0.7/skeleton",
    v07_streamlines: "0.7/streamlines",
    v07_missing_chunks_are_zeros: "0.7/zeros",
    v08_directed_graph: "0.8/directed_graph",
    v08_duplicate_graph: "0.8/duplicate_graph",
    v08_duplicate_mesh: "0.8/duplicate_mesh",
    v08_float64_that_says_float32: "0.8/float64_as_float32",
    v08_graph: "0.8/graph",
    v080_graph: "0.8/graph_080",
    v08_lines: "0.8/lines",
    v08_mesh: "0.8/mesh",
    v08_native_graph: "0.8/native_graph",
    v08_native_mesh: "0.8/native_mesh",
    v08_fragments_overlap_and_repeat: "0.8/overlap",
    v08_packed_graph: "0.8/packed_graph",
    v08_points_2d_f8: "0.8/points_2d_f8",
    v08_points_4d_sharded: "0.8/points_4d_sharded",
    v08_points_bins: "0.8/points_bins",
    v08_points_ids: "0.8/points_ids",
    v08_pyramid_cells: "0.8/pyramid_cells",
    v08_quads: "0.8/quads",
    v08_real_mesh: "0.8/real_mesh",
    v08_real_skeleton: "0.8/real_skeleton",
    v08_real_synapses: "0.8/real_synapses",
    v08_real_tractogram: "0.8/real_tractogram",
    v08_sentinels: "0.8/sentinels",
    v08_lines_share_nodes: "0.8/shared_nodes",
    v08_skeleton: "0.8/skeleton",
    v08_streamlines: "0.8/streamlines",
    v08_zero_rows_of_lines: "0.8/zero_lines",
    v094_additive_graph: "0.9.4/additive_graph",
    v094_additive_points: "0.9.4/additive_points",
    v094_additive_streamlines: "0.9.4/additive_streamlines",
    v094_dense_points: "0.9.4/dense_points",
    v094_dense_rows: "0.9.4/dense_rows",
    newer_with_known_nodes: "0.9.4/newer",
    padded_graph: "padded/graph",
    padded_mesh: "padded/mesh",
    padded_points: "padded/points",
    padded_points_without_fragment_index: "padded/points_bare",
    padded_skeleton: "padded/skeleton",
    padded_streamlines: "padded/streamlines",
    padded_chunk_of_zeros: "padded/zeros",
}

#[test]
fn every_bundled_store_of_another_generation_is_asked() {
    let all: BTreeSet<String> = zvf_testkit::all_cases().unwrap().into_iter().collect();
    let here: BTreeSet<String> = ALL.iter().map(|case| (*case).to_owned()).collect();
    let newest = |case: &&String| case.starts_with("0.9/");
    let missing: Vec<&String> = all.difference(&here).filter(|case| !newest(case)).collect();
    assert_eq!(missing, Vec::<&String>::new());
    assert_eq!(here.difference(&all).next(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_store_is_the_same_on_disk() {
    for case in ALL {
        let folder = zvf_testkit::unpacked(case).unwrap();
        let store = Store::open(&folder.url().unwrap()).await.unwrap();
        crate::fixtures::check(case, &store).await;
    }
}

/// A JSON value in the form in which tables are shown here.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Number(number) if number.is_f64() => crate::support::float(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(" "),
        other => other.to_string().trim_matches('"').to_owned(),
    }
}

/// Checks the object table of a query of all objects by id; `told` has the expected columns of attributes.
pub(crate) async fn check_object_columns(name: &str, store: &Store, told: &Value) {
    let rows = told.as_object().unwrap().values().next().unwrap();
    let ids = (0..rows.as_array().unwrap().len() as i64).collect();
    let asked = Query {
        objects: Some(ids),
        ..Query::default()
    };
    let got = ask(store, asked).await.unwrap();
    let objects = got.objects.unwrap();
    for (attribute, values) in told.as_object().unwrap() {
        let wanted: Vec<String> = values.as_array().unwrap().iter().map(text).collect();
        assert_eq!(column(&objects, attribute), wanted, "{name}, {attribute}");
    }
}

#[tokio::test]
async fn a_mask_of_0_is_null_and_a_real_zero_is_0() {
    let case = zvf_testkit::case("0.7/masks").unwrap();
    let store = bundled("0.7/masks").await;
    check_object_columns("0.7/masks", &store, &case.document["masked"]).await;
}

#[tokio::test]
async fn a_fill_value_of_every_type_is_null_where_the_object_is_absent() {
    let case = zvf_testkit::case("0.8/sentinels").unwrap();
    let store = bundled("0.8/sentinels").await;
    check_object_columns("0.8/sentinels", &store, &case.document["sentinels"]).await;
}

#[tokio::test]
async fn an_attribute_that_only_the_finest_level_has_is_null_elsewhere() {
    let name = "0.9.4/additive_points";
    let (case, truth) = (
        zvf_testkit::case(name).unwrap(),
        zvf_testkit::truth(name).unwrap(),
    );
    let store = bundled(name).await;
    let got = ask(&store, Query::default()).await.unwrap();
    let told = case.document["nulls"]["fine"].as_object().unwrap();
    let positions = truth.positions.f64s().unwrap();
    let mut wanted: Vec<(String, String)> = (0..truth.positions.rows())
        .map(|row| {
            let place: Vec<String> = positions[3 * row..3 * row + 3]
                .iter()
                .map(|value| crate::support::float(*value))
                .collect();
            let value = told.get(&row.to_string()).map_or("null".into(), text);
            (place.join(" "), value)
        })
        .collect();
    let mut found: Vec<(String, String)> = got
        .column("position")
        .into_iter()
        .zip(got.column("fine"))
        .collect();
    wanted.sort();
    found.sort();
    assert_eq!(found, wanted);
}

/// Row of the input by (chunk, row) of one level, found by the position, which no two input rows of a level share.
async fn places(name: &str, store: &Store, level: u32) -> BTreeMap<(Vec<i64>, u64), usize> {
    let (case, truth) = (
        zvf_testkit::case(name).unwrap(),
        zvf_testkit::truth(name).unwrap(),
    );
    let positions = truth.positions.f64s().unwrap();
    let width = truth.positions.width();
    let rows: BTreeSet<usize> = case
        .queries
        .iter()
        .filter(|query| query.level == level)
        .flat_map(|query| query.rows.iter().copied())
        .collect();
    let place = |row: usize| {
        positions[row * width..(row + 1) * width]
            .iter()
            .map(|value| crate::support::float(*value))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let input: BTreeMap<String, usize> = rows.iter().map(|row| (place(*row), *row)).collect();
    assert_eq!(input.len(), rows.len(), "{name}: two rows at one place");
    let asked = Query {
        level,
        columns: vec![Column::Position, Column::Chunk, Column::Row],
        ..Query::default()
    };
    let got = ask(store, asked).await.unwrap();
    let chunk = |text: &String| text.split(' ').map(|part| part.parse().unwrap()).collect();
    got.column("position")
        .iter()
        .zip(got.column("chunk").iter().zip(got.column("row")))
        .map(|(position, (at, row))| ((chunk(at), row.parse().unwrap()), input[position]))
        .collect()
}

/// Checks that links between levels are those of the input, in any family.
pub(crate) async fn check_levels(name: &str, store: &Store) {
    let case = zvf_testkit::case(name).unwrap();
    for told in case.document["cross_level"].as_array().unwrap() {
        let level = told["level"].as_u64().unwrap() as u32;
        let delta = told["delta"].as_i64().unwrap() as i32;
        let here = places(name, store, level).await;
        let there = places(name, store, level.strict_add_signed(delta)).await;
        let all = list_links(store, level, delta, false).await.unwrap();
        let batch = all.collect().await.unwrap().table(Table::Links).unwrap();
        let batch = batch.unwrap();
        let chunks = batch.column_by_name("chunks").unwrap();
        let rows = batch.column_by_name("rows").unwrap();
        let mut found = Vec::new();
        for record in 0..batch.num_rows() {
            let chunks = chunks.as_fixed_size_list().value(record);
            let chunks = chunks.as_primitive::<Int64Type>().values().to_vec();
            let rows = rows.as_fixed_size_list().value(record);
            let rows = rows.as_primitive::<UInt64Type>().values().to_vec();
            let (first, second) = chunks.split_at(chunks.len() / 2);
            let ends = (
                here[&(first.to_vec(), rows[0])],
                there[&(second.to_vec(), rows[1])],
            );
            found.push(ends);
        }
        let mut wanted: Vec<(usize, usize)> = told["pairs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| {
                (
                    pair[0].as_u64().unwrap() as usize,
                    pair[1].as_u64().unwrap() as usize,
                )
            })
            .collect();
        wanted.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, wanted, "{name}, level {level}, delta {delta}");
    }
}

#[tokio::test]
async fn v07_records_between_levels_of_different_grids() {
    check_levels("0.7/pyramid", &bundled("0.7/pyramid").await).await;
}

#[tokio::test]
async fn v08_records_between_levels_are_not_sorted_by_meaning() {
    check_levels("0.8/pyramid_cells", &bundled("0.8/pyramid_cells").await).await;
}

/// The error from opening the store or from the first query.
async fn refusal(name: &str) -> String {
    let files = zvf_testkit::files(name).unwrap();
    let store = match crate::support::try_open(&files, OpenOptions::new()).await {
        Ok(store) => store,
        Err(error) => return error.to_string(),
    };
    match ask(&store, Query::default()).await {
        Ok(_) => panic!("{name} was answered"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn what_nobody_can_read_is_refused_by_name() {
    for name in zvf_testkit::refused_cases().unwrap() {
        let case = zvf_testkit::case(&name).unwrap();
        if !case.queries.is_empty() {
            continue;
        }
        let message = refusal(&name).await;
        for wanted in &case.expect {
            assert!(message.contains(wanted), "{name}: {message}");
        }
    }
}
#[tokio::test]
async fn a_family_of_a_side_dialect_is_refused_and_the_rest_is_read() {
    for name in zvf_testkit::refused_cases().unwrap() {
        let case = zvf_testkit::case(&name).unwrap();
        if case.queries.is_empty() {
            continue;
        }
        let store = bundled(&name).await;
        crate::fixtures::check(&name, &store).await;
        check_refused(&name, &store, &case.expect).await;
    }
}

#[tokio::test]
async fn a_table_of_global_vertex_numbers_is_listed_and_not_interpreted() {
    let name = "padded/graph";
    check_refused(name, &bundled(name).await, &["0/cross_chunk_links".into()]).await;
}

async fn check_refused(name: &str, store: &Store, expect: &[String]) {
    let level = store.level(0, &Need::all()).await.unwrap();
    let said: Vec<String> = level
        .refused()
        .iter()
        .map(|refused| format!("{}: {}", refused.path, refused.why))
        .collect();
    for wanted in expect {
        assert!(
            said.iter().any(|text| text.contains(wanted)),
            "{name}: no {wanted} in {said:?}"
        );
    }
}
