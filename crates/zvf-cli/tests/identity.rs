//! Ids, groups and units that are transferred from store to store: by files, by folders of queries, and directly.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use serde_json::{Value, json};

use crate::run::Home;

/// Objects by id: the rows of a table in its order, with all values except the id.
type Objects = BTreeMap<i64, Vec<String>>;

/// The objects of a CSV text with the column `object_id`.
fn by_object(text: &str) -> Result<Objects> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().context("a header")?.split(',').collect();
    let at = header.iter().position(|name| *name == "object_id");
    let at = at.context("a column object_id")?;
    let mut objects = Objects::new();
    for line in lines {
        let mut fields: Vec<&str> = line.split(',').collect();
        let id = fields.remove(at).parse()?;
        objects.entry(id).or_default().push(fields.join(","));
    }
    Ok(objects)
}

/// All objects of a store, as an export writes them.
fn objects(home: &Home, store: &str) -> Result<Objects> {
    home.text(&["export", store, "all.csv"])?;
    by_object(&std::fs::read_to_string(home.file("all.csv"))?)
}

/// The members of a group, by a query of the group.
fn members(home: &Home, store: &str, group: &str) -> Result<Vec<i64>> {
    let text = home.text(&["query", store, "--groups", group, "--format", "csv"])?;
    Ok(by_object(&text)?.into_keys().collect())
}

/// Runs a command that must be refused, with all of these words on stderr.
fn refused(home: &Home, args: &[&str], words: &[&str]) -> Result<()> {
    let ran = home.zvf(args)?;
    ensure!(ran.code != 0, "{args:?} was accepted");
    for word in words {
        ensure!(
            ran.stderr.contains(word),
            "{args:?}: no {word} in {}",
            ran.stderr
        );
    }
    Ok(())
}

fn lines(home: &Home) -> Result<()> {
    std::fs::write(home.file("o3.csv"), "x,y,z,o\n1,1,1,7\n2,2,2,7\n")?;
    std::fs::write(home.file("o4.csv"), "x,y,z,o\n90,5,5,7\n96,6,6,7\n")?;
    let lines: Vec<String> = [("o3", 1), ("o4", 90)]
        .iter()
        .map(|(_, x)| format!("{{\"x\":{x},\"y\":1,\"z\":1,\"object_id\":7}}\n"))
        .collect();
    std::fs::write(home.file("n3.ndjson"), &lines[0])?;
    std::fs::write(home.file("n4.ndjson"), &lines[1])?;
    Ok(())
}

#[test]
fn two_files_never_make_one_object() -> Result<()> {
    let home = Home::made(&[])?;
    std::fs::create_dir_all(home.path())?;
    lines(&home)?;
    let ways = ["--id-offset", "--id-from-file", "--new-ids"];
    for kind in ["polyline", "streamline", "point_cloud"] {
        let given = ["--object-column", "o", "--kind", kind];
        let both = ["o3.csv", "o4.csv"];
        let import: Vec<&str> = ["import"]
            .iter()
            .chain(&both)
            .chain(&["a.zv"])
            .chain(&given)
            .copied()
            .collect();
        let words: Vec<&str> = both
            .iter()
            .chain(&ways)
            .chain(&["object 7"])
            .copied()
            .collect();
        refused(&home, &import, &words)?;
        let rules: [(&[&str], [i64; 2]); 3] = [
            (&["--new-ids"], [0, 1]),
            (&["--id-from-file"], [3, 4]),
            (&["--id-offset", "100"], [7, 107]),
        ];
        for (rule, ids) in rules {
            let args: Vec<&str> = import.iter().chain(rule).copied().collect();
            home.text(&args)?;
            let found = objects(&home, "a.zv")?;
            assert_eq!(found.keys().copied().collect::<Vec<_>>(), ids, "{rule:?}");
            assert!(found.values().all(|rows| rows.len() == 2), "{found:?}");
            std::fs::remove_dir_all(home.file("a.zv"))?;
        }
        // An append treats ids in the same way, to a store that has the object and to one that does not.
        home.text(&[
            "import", "o3.csv", "a.zv", given[0], given[1], given[2], given[3],
        ])?;
        let append = ["append", "a.zv", "o3.csv", "o4.csv", "--object-column", "o"];
        refused(&home, &append, &words)?;
        refused(
            &home,
            &[&append[..3], &append[4..]].concat(),
            &["object 7", "--new-ids"],
        )?;
        let rules: [(&[&str], Value); 3] = [
            (&["--id-offset", "10"], json!([17, 27])),
            (&["--new-ids"], json!([28, 29])),
            (&["--id-from-file"], json!([3, 4])),
        ];
        for (rule, ids) in rules {
            let args: Vec<&str> = append
                .iter()
                .chain(rule)
                .chain(&["--json"])
                .copied()
                .collect();
            assert_eq!(home.json(&args)?["ids"], ids, "{rule:?}");
        }
        assert_eq!(objects(&home, "a.zv")?.len(), 7);
        home.text(&["validate", "a.zv", "--level", "5"])?;
        std::fs::remove_dir_all(home.file("a.zv"))?;
    }
    // In every table, a column object_id has the ids of the objects, even if no option names it.
    refused(
        &home,
        &["import", "n3.ndjson", "n4.ndjson", "b.zv"],
        &["n3.ndjson", "n4.ndjson", "object 7"],
    )?;
    home.text(&["import", "n3.ndjson", "b.zv"])?;
    assert_eq!(
        home.json(&["append", "b.zv", "n4.ndjson", "--id-offset", "1", "--json"])?["ids"],
        json!([8])
    );
    Ok(())
}

#[test]
fn tractograms_get_ids_by_file() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    let store = crate::run::STORE;
    for (file, ids) in [("sub-4.tck", "0"), ("sub-9.tck", "1"), ("more.tck", "2,3")] {
        home.text(&["export", store, file, "--objects", ids])?;
    }
    home.text(&["import", "sub-4.tck", "sub-9.tck", "a.zv", "--id-from-file"])?;
    assert_eq!(
        objects(&home, "a.zv")?.keys().copied().collect::<Vec<_>>(),
        [4, 9]
    );
    refused(
        &home,
        &["import", "more.tck", "b.zv", "--id-from-file"],
        &["more.tck", "one object a file"],
    )?;
    refused(
        &home,
        &[
            "import",
            "more.tck",
            "sub-4.tck",
            "b.zv",
            "--id-offset",
            "1",
        ],
        &["more.tck", "sub-4.tck", "--id-offset 2"],
    )?;
    let done = home.json(&[
        "append",
        "a.zv",
        "more.tck",
        "sub-4.tck",
        "--id-offset",
        "100",
        "--json",
    ])?;
    assert_eq!(done["ids"], json!([100, 101, 200]));
    Ok(())
}

/// Two stores of the same streamlines with different chunk shapes, with groups.
fn tracts() -> Result<(Home, Objects)> {
    let home = Home::new("real_tractogram")?;
    let store = crate::run::STORE;
    home.text(&["export", store, "few.tck", "--objects", "0-19"])?;
    home.text(&["import", "few.tck", "a.zv", "--chunk-shape", "50,50,50"])?;
    home.text(&["import", "few.tck", "b.zv", "--chunk-shape", "12,12,12"])?;
    home.text(&["edit", "a.zv", "group", "add", "AF", "0-3"])?;
    home.text(&["edit", "b.zv", "group", "add", "AF", "5", "4"])?;
    home.text(&["edit", "b.zv", "group", "add", "CST", "4,6"])?;
    let own = objects(&home, "b.zv")?;
    Ok((home, own))
}

/// The names of the groups of a folder, and the values of their attribute `big`.
fn big(home: &Home, folder: &str) -> Result<Vec<(String, Option<i64>)>> {
    let table = groups_table(home, folder)?;
    let names = table.column_by_name("name").context("names")?;
    let numbers = table.column_by_name("big").context("the attribute")?;
    let numbers = numbers.as_primitive_opt::<Int64Type>().context("int64")?;
    let names = names.as_string_opt::<i32>().context("texts")?;
    let rows = names.iter().zip(numbers);
    let mut rows: Vec<_> = rows
        .map(|(name, number)| (name.unwrap_or_default().to_owned(), number))
        .collect();
    rows.sort();
    Ok(rows)
}

fn groups_table(home: &Home, folder: &str) -> Result<RecordBatch> {
    let file = std::fs::File::open(home.file(folder).join("groups.arrow"))?;
    let mut batches = FileReader::try_new(file, None)?;
    Ok(batches.next().context("a table")??)
}

/// A new group without an integer value has none, and the other groups keep theirs, through every table and copy.
#[test]
fn whole_numbers_of_groups_stay_when_a_new_group_has_none() -> Result<()> {
    let (home, _) = tracts()?;
    home.text(&["import", "few.tck", "c.zv", "--chunk-shape", "20,20,20"])?;
    home.text(&["query", "b.zv", "-o", "b"])?;
    let table = groups_table(&home, "b")?;
    let numbers = Int64Array::from(vec![9_007_199_254_740_993, -5]);
    let mut fields = table.schema().fields().to_vec();
    fields.push(Arc::new(Field::new("big", DataType::Int64, true)));
    let schema = Schema::new_with_metadata(fields, table.schema().metadata().clone());
    let columns = table.columns().iter().cloned();
    let columns = columns.chain([Arc::new(numbers) as ArrayRef]).collect();
    let table = RecordBatch::try_new(Arc::new(schema), columns)?;
    let file = std::fs::File::create(home.file("b/groups.arrow"))?;
    let mut writer = FileWriter::try_new(file, &table.schema())?;
    writer.write(&table)?;
    writer.finish()?;
    home.text(&["append", "c.zv", "b", "--new-ids"])?;
    home.text(&["edit", "c.zv", "group", "add", "D", "1"])?;
    let wanted = [
        ("AF".to_owned(), Some(9_007_199_254_740_993)),
        ("CST".to_owned(), Some(-5)),
        ("D".to_owned(), None),
    ];
    home.text(&["query", "c.zv", "-o", "c"])?;
    assert_eq!(big(&home, "c")?, wanted);
    home.text(&["import", "few.tck", "d.zv"])?;
    home.text(&["append", "d.zv", "c", "--new-ids"])?;
    home.text(&["merge", "c.zv", "a.zv", "m.zv", "--new-ids"])?;
    home.text(&["split", "c.zv", "parts", "--by", "count", "1"])?;
    home.text(&["migrate", "c.zv", "old.zv", "--to", "0.8.1"])?;
    for store in ["d.zv", "m.zv", "parts/0.zarrvectors", "old.zv"] {
        home.text(&["validate", store, "--level", "5"])?;
        home.text(&["query", store, "-o", "out"])?;
        assert_eq!(big(&home, "out")?, wanted, "{store}");
        std::fs::remove_dir_all(home.file("out"))?;
    }
    // When the last group is deleted, the attribute has no rows; groups that are appended later add theirs.
    for group in ["AF", "D", "CST"] {
        home.text(&["edit", "c.zv", "group", "delete", group])?;
        home.text(&["validate", "c.zv", "--level", "5"])?;
    }
    home.text(&["pyramid", "c.zv", "--factors", "2"])?;
    home.text(&["validate", "c.zv", "--level", "5"])?;
    home.text(&["pyramid", "c.zv", "--remove"])?;
    home.text(&["migrate", "c.zv", "strict.zv", "--strict"])?;
    home.text(&["append", "c.zv", "b", "--new-ids"])?;
    home.text(&["validate", "c.zv", "--level", "5"])?;
    home.text(&["query", "c.zv", "-o", "out"])?;
    assert_eq!(big(&home, "out")?, wanted[..2]);
    Ok(())
}

#[test]
fn a_group_of_deleted_objects_is_kept_without_members() -> Result<()> {
    let (home, _) = tracts()?;
    home.text(&["edit", "b.zv", "delete", "4-6"])?;
    home.text(&["query", "b.zv", "-o", "b"])?;
    home.text(&["append", "a.zv", "b", "--new-ids"])?;
    // If a selection is appended, groups without its objects are left out.
    home.text(&["edit", "b.zv", "group", "add", "more", "7"])?;
    home.text(&["query", "b.zv", "--objects", "0,1", "-o", "few"])?;
    home.text(&["append", "a.zv", "few", "--new-ids"])?;
    let groups = home.json(&["info", "a.zv", "--json"])?;
    assert_eq!(groups["levels"][0]["groups"], json!(["AF", "CST"]));
    let of_cst = home.json(&["query", "a.zv", "--groups", "CST", "--json"])?;
    assert_eq!(of_cst["vertices"], json!(0));
    Ok(())
}

#[test]
fn groups_and_chains_travel_by_folder_by_file_and_by_store() -> Result<()> {
    for way in ["folder", "objects", "store", "trx"] {
        let (home, own) = tracts()?;
        let from = match way {
            "folder" => {
                let text = home.text(&["query", "b.zv", "-o", "b", "--json"])?;
                ensure!(text.contains("groups.arrow"), "{text}");
                "b"
            }
            "objects" => {
                home.text(&["query", "b.zv", "--select", "objects", "-o", "b"])?;
                "b"
            }
            "store" => "b.zv",
            _ => {
                home.text(&["export", "b.zv", "b.trx"])?;
                "b.trx"
            }
        };
        let done = home.json(&["append", "a.zv", from, "--new-ids", "--json"])?;
        assert_eq!(done["notes"], json!([]), "{way}");
        let ids: Vec<i64> = (20..40).collect();
        assert_eq!(done["ids"], json!(ids), "{way}");
        // All streamlines exist again, point by point, in the order of the ids.
        let all = objects(&home, "a.zv")?;
        for (id, rows) in &own {
            assert_eq!(all.get(&(id + 20)), Some(rows), "{way}: object {id}");
        }
        assert_eq!(members(&home, "a.zv", "AF")?, [0, 1, 2, 3, 24, 25], "{way}");
        assert_eq!(members(&home, "a.zv", "CST")?, [24, 26], "{way}");
        home.text(&["validate", "a.zv", "--level", "5"])?;
        // The same ids exist already.
        refused(&home, &["append", "a.zv", "b.zv"], &["--new-ids"])?;
    }
    Ok(())
}

#[test]
fn a_store_goes_into_one_of_its_kind_axes_and_unit() -> Result<()> {
    let home = Home::made(&[])?;
    std::fs::create_dir_all(home.path())?;
    let tree = "1 1 0 0 0 2 -1\n2 3 5 0 0 1 1\n";
    for name in ["17.swc", "42.swc"] {
        std::fs::write(home.file(name), tree)?;
    }
    std::fs::write(home.file("p.csv"), "x,y,z\n1,2,3\n")?;
    home.text(&["import", "17.swc", "a.zv", "--unit", "um"])?;
    home.text(&["import", "42.swc", "b.zv", "--unit", "um"])?;
    home.text(&["import", "42.swc", "nm.zv", "--unit", "nm"])?;
    home.text(&["import", "p.csv", "p.zv"])?;
    home.text(&["query", "nm.zv", "-o", "nm"])?;
    home.text(&["query", "nm.zv", "-o", "nm.arrow"])?;
    let done = home.json(&["append", "a.zv", "b.zv", "--json"])?;
    assert_eq!(
        (&done["ids"], &done["links_stored"]),
        (&json!([42]), &json!(0))
    );
    let list = home.json(&["objects", "a.zv", "--json"])?;
    assert_eq!(list["objects"][1]["name"], json!("42"));
    home.text(&["validate", "a.zv", "--level", "5"])?;
    refused(
        &home,
        &["append", "a.zv", "p.zv"],
        &["point_cloud", "skeleton"],
    )?;
    refused(&home, &["append", "a.zv", "a.zv"], &["another"])?;
    for from in ["nm.zv", "nm", "nm.arrow"] {
        let ran = home.zvf(&["append", "a.zv", from, "--new-ids"])?;
        // The positions are refused or converted to the unit of the store, but never taken unchanged.
        if ran.code == 0 {
            let all = objects(&home, "a.zv")?;
            let last = all.values().last().context("an object")?;
            ensure!(last.iter().any(|row| row.starts_with("0.005")), "{last:?}");
        } else {
            ensure!(
                ran.stderr.contains("nanometer") && ran.stderr.contains("micrometer"),
                "{}",
                ran.stderr
            );
        }
    }
    Ok(())
}

#[test]
fn every_table_names_objects_and_comes_back_with_them() -> Result<()> {
    let home = Home::made(&[])?;
    std::fs::create_dir_all(home.path())?;
    for name in ["17.swc", "42.swc"] {
        std::fs::write(home.file(name), "1 1 0 0 0 2 -1\n2 3 5 0 0 1 1\n")?;
    }
    home.text(&["import", "17.swc", "42.swc", "a.zv", "--unit", "um"])?;
    for (way, ending) in [
        ("query", "csv"),
        ("query", "tsv"),
        ("query", "ndjson"),
        ("query", "arrow"),
        ("query", "feather"),
        ("query", "parquet"),
        ("query", "npz"),
        ("export", "csv"),
        ("export", "csv.gz"),
        ("export", "arrow"),
        ("export", "parquet"),
        ("export", "npz"),
    ] {
        let file = format!("{way}.{ending}");
        match way {
            "query" => home.text(&["query", "a.zv", "-o", &file])?,
            _ => home.text(&["export", "a.zv", &file])?,
        };
        home.text(&["import", &file, "b.zv"])?;
        let info = home.json(&["info", "b.zv", "--json"])?;
        let list = home.json(&["objects", "b.zv", "--json"])?;
        let ids = list["objects"].as_array().context("objects")?.iter();
        assert_eq!(
            ids.map(|one| one["object_id"].clone()).collect::<Vec<_>>(),
            [json!(17), json!(42)],
            "{file}"
        );
        let states = ["arrow", "feather", "parquet", "npz"].contains(&ending);
        for axis in info["axes"].as_array().context("axes")? {
            assert_eq!(
                axis["unit"].as_str(),
                states.then_some("micrometer"),
                "{file}"
            );
        }
        std::fs::remove_dir_all(home.file("b.zv"))?;
    }
    for format in ["csv", "ndjson"] {
        let text = home.text(&["query", "a.zv", "--format", format])?;
        ensure!(text.contains("object_id"), "{text}");
        let text = home.text(&["query", "a.zv", "--format", format, "--columns", "position"])?;
        ensure!(!text.contains("object_id"), "{text}");
    }
    // Excluding the column makes points without objects.
    home.text(&["import", "query.csv", "b.zv", "--exclude", "object_id"])?;
    ensure!(home.json(&["info", "b.zv", "--json"])?["kind"] == json!("point_cloud"));
    Ok(())
}

#[test]
fn rows_in_the_order_of_chunks_are_no_chains() -> Result<()> {
    let home = Home::made(&[])?;
    std::fs::create_dir_all(home.path())?;
    // The line leaves the first chunk, and returns to it.
    std::fs::write(
        home.file("u.csv"),
        "x,y,z,o\n1,1,1,0\n5,1,1,0\n9,1,1,0\n5,2,1,0\n1,2,1,0\n",
    )?;
    home.text(&[
        "import",
        "u.csv",
        "u.zv",
        "--object-column",
        "o",
        "--kind",
        "polyline",
        "--chunk-shape",
        "4,4,4",
    ])?;
    home.text(&["query", "u.zv", "-o", "u.arrow"])?;
    refused(
        &home,
        &["import", "u.arrow", "v.zv", "--kind", "polyline"],
        &["order of chunks", "--select objects"],
    )?;
    home.text(&["query", "u.zv", "--select", "objects", "-o", "w.arrow"])?;
    home.text(&["import", "w.arrow", "v.zv", "--kind", "polyline"])?;
    assert_eq!(objects(&home, "v.zv")?, objects(&home, "u.zv")?);
    // A box cuts the line into pieces, which an append refuses to join.
    home.text(&["query", "u.zv", "--bbox", "0,0,0:6,9,9", "-o", "box"])?;
    refused(
        &home,
        &["append", "u.zv", "box", "--new-ids"],
        &["object 0", "pieces", "--select objects"],
    )?;
    home.text(&["query", "u.zv", "-o", "whole"])?;
    home.text(&["append", "u.zv", "whole", "--new-ids"])?;
    let all = objects(&home, "u.zv")?;
    assert_eq!(all[&0], all[&1]);
    Ok(())
}

#[test]
fn conditions_on_groups_select_their_members() -> Result<()> {
    let (home, _) = tracts()?;
    // AF has the objects 4 and 5, CST 4 and 6.
    let cases = [
        ("group.name == 'CST'", vec![4, 6]),
        ("group.number == 0 or object_id == 9", vec![4, 5, 9]),
        ("group.name like 'A%' and object_id > 4", vec![5]),
        ("not group.name == 'CST'", vec![4, 5]),
        (
            "group.name == 'AF' and object_id > 3 and group.number == 1",
            vec![],
        ),
    ];
    for (number, (text, expected)) in cases.into_iter().enumerate() {
        let line = ["query", "b.zv", "--where", text, "--format", "csv"];
        let found: Vec<i64> = by_object(&home.text(&line)?)?.into_keys().collect();
        assert_eq!(found, expected, "{text}");
        let listed = home.json(&["objects", "b.zv", "--where", text, "--json"])?;
        let listed = listed["objects"].as_array().into_iter().flatten();
        let listed: Vec<&Value> = listed.map(|one| &one["object_id"]).collect();
        assert_eq!(json!(listed), json!(expected), "{text}");
        if expected.is_empty() {
            continue;
        }
        let file = format!("{number}.csv");
        home.text(&["export", "b.zv", &file, "--where", text])?;
        let text_of = std::fs::read_to_string(home.file(&file))?;
        let found: Vec<i64> = by_object(&text_of)?.into_keys().collect();
        assert_eq!(found, expected, "{text}");
        let split = home.json(&[
            "split",
            "b.zv",
            &format!("parts{number}"),
            "--by",
            "group",
            "--where",
            text,
            "--json",
            "-q",
        ]);
        let parts = split?["parts"].as_array().map_or(0, Vec::len);
        let groups = [&[4, 5], &[4, 6]];
        let meets = |group: &&&[i64; 2]| group.iter().any(|id| expected.contains(id));
        assert_eq!(parts, groups.iter().filter(meets).count(), "{text}");
    }
    let error = [
        "no group attribute \"nam\" (did you mean \"name\"?)",
        "\n  ^",
    ];
    refused(
        &home,
        &["query", "b.zv", "--where", "group.nam = 'AF'"],
        &error,
    )?;
    refused(
        &home,
        &["objects", "b.zv", "--where", "group.nam = 'AF'"],
        &error,
    )?;
    Ok(())
}

#[test]
fn groups_are_conditions_of_coarse_levels_and_edits() -> Result<()> {
    let (home, _) = tracts()?;
    home.text(&["pyramid", "b.zv", "--factors", "2"])?;
    let ids = |condition: &[&str]| -> Result<Vec<i64>> {
        let line = ["query", "b.zv", "--level", "1", "--format", "csv"];
        let line: Vec<&str> = line.iter().chain(condition).copied().collect();
        Ok(by_object(&home.text(&line)?)?.into_keys().collect())
    };
    assert_eq!(
        ids(&["--where", "group.name == 'CST'"])?,
        ids(&["--groups", "CST"])?
    );
    assert_eq!(ids(&["--groups", "CST"])?, [4, 6]);
    let left: Vec<i64> = objects(&home, "b.zv")?
        .into_keys()
        .filter(|id| ![4, 6].contains(id))
        .collect();
    let delete = [
        "edit",
        "b.zv",
        "delete",
        "--select",
        "objects",
        "--where",
        "group.name == 'CST'",
    ];
    home.text(&delete)?;
    assert_eq!(
        objects(&home, "b.zv")?.into_keys().collect::<Vec<_>>(),
        left
    );
    Ok(())
}

#[test]
fn groups_are_edited_by_name_and_number() -> Result<()> {
    let (home, _) = tracts()?;
    let group = |args: &[&str]| {
        let line: Vec<&str> = ["edit", "b.zv", "group"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        home.text(&line)
    };
    let wrong = |args: &[&str], words: &[&str]| {
        let line: Vec<&str> = ["edit", "b.zv", "group"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        refused(&home, &line, words)
    };
    assert_eq!(members(&home, "b.zv", "1")?, [4, 6]);
    group(&["remove", "1", "4"])?;
    assert_eq!(members(&home, "b.zv", "CST")?, [6]);
    wrong(&["remove", "CST", "4"], &["object 4", "CST"])?;
    wrong(&["add", "CST", "99"], &["object 99"])?;
    wrong(&["add", "7", "1"], &["name:7"])?;
    wrong(&["rename", "CST", "AF"], &["AF"])?;
    group(&["rename", "CST", "0"])?;
    // 0 is now the name of one group and the number of another.
    wrong(&["add", "0", "1"], &["name:0", "number:0"])?;
    refused(
        &home,
        &["query", "b.zv", "--groups", "0"],
        &["name:0", "number:0"],
    )?;
    assert_eq!(members(&home, "b.zv", "name:0")?, [6]);
    assert_eq!(members(&home, "b.zv", "number:0,name:0")?, [4, 5, 6]);
    refused(&home, &["query", "b.zv", "--groups", "XY"], &["XY", "AF"])?;
    // A deleted object that is appended again with its id does not join its former group.
    home.text(&["edit", "b.zv", "delete", "6"])?;
    home.text(&["query", "a.zv", "--objects", "6", "-o", "six"])?;
    home.text(&["append", "b.zv", "six"])?;
    assert_eq!(members(&home, "b.zv", "name:0")?, [] as [i64; 0]);
    group(&["delete", "AF"])?;
    group(&["delete", "0"])?;
    home.text(&["validate", "b.zv", "--level", "5"])?;
    refused(&home, &["query", "b.zv", "--groups", "AF"], &["AF"])?;
    group(&["add", "new", "3-5"])?;
    assert_eq!(members(&home, "b.zv", "new")?, [3, 4, 5]);
    home.text(&["validate", "b.zv", "--level", "5"])?;
    Ok(())
}
