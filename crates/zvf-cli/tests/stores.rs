//! `zvf split`, `zvf merge` and exports of each object, compared with the input data.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::run::{Home, STORE};

pub(crate) type Rows = BTreeMap<String, Vec<String>>;

/// The sorted rows of a store by object, with the header.
pub(crate) fn rows(home: &Home, store: &str) -> Result<(String, Rows)> {
    let file = "rows.csv";
    home.text(&["export", store, file, "-q"])?;
    let text = fs::read_to_string(home.file(file))?;
    let (header, body) = text.split_once('\n').context("a header")?;
    let mut names: Vec<&str> = header.split(',').collect();
    let at = names.iter().position(|name| *name == "object_id");
    let mut rows = Rows::new();
    for line in body.lines() {
        let mut fields: Vec<&str> = line.split(',').collect();
        let id = at.map_or("", |at| fields.remove(at));
        rows.entry(id.to_owned())
            .or_default()
            .push(fields.join(","));
    }
    at.map(|at| names.remove(at));
    rows.values_mut().for_each(|rows| rows.sort());
    Ok((names.join(","), rows))
}

/// The edges or faces of a store by the rows that they join, ignoring their order and direction.
fn links(home: &Home, store: &str, flag: &str) -> Result<Vec<Vec<String>>> {
    if flag.is_empty() {
        return Ok(Vec::new());
    }
    home.text(&["export", store, "nodes.csv", flag, "links.csv", "-q"])?;
    let nodes = fs::read_to_string(home.file("nodes.csv"))?;
    let nodes: Vec<&str> = nodes.lines().skip(1).collect();
    let mut links = Vec::new();
    let text = fs::read_to_string(home.file("links.csv"))?;
    let (header, body) = text.split_once('\n').context("a header")?;
    // Attributes of links follow the ends.
    let width = if flag == "--faces" { 3 } else { 2 };
    ensure!(header.split(',').count() >= width, "{header}");
    for line in body.lines() {
        let (mut ends, mut values) = (Vec::new(), Vec::new());
        for (at, field) in line.split(',').enumerate() {
            match at < width {
                true => ends.push(
                    nodes
                        .get(field.parse::<usize>()?)
                        .context("a row")?
                        .to_string(),
                ),
                false => values.push(field.to_owned()),
            }
        }
        ends.sort();
        ends.append(&mut values);
        links.push(ends);
    }
    links.sort();
    Ok(links)
}

fn groups(home: &Home, store: &str) -> Result<BTreeMap<String, BTreeSet<i64>>> {
    let folder = home.file("answer");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let info = home.json(&["info", store, "--json"])?;
    let mut found = BTreeMap::new();
    let named = info["levels"][0]["groups"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for name in named.iter().filter_map(|one| one["name"].as_str()) {
        let told = home.text(&[
            "query",
            store,
            "--groups",
            name,
            "--columns",
            "object_id",
            "--format",
            "csv",
        ])?;
        let ids = told.lines().skip(1).filter_map(|id| id.parse().ok());
        found.insert(name.to_owned(), ids.collect());
    }
    Ok(found)
}

/// Stores of every kind are split into parts and merged again.
#[test]
fn the_parts_of_a_store_make_the_store() -> Result<()> {
    for (case, flag) in [
        ("skeleton", "--edges"),
        ("mesh", "--faces"),
        ("graph", "--edges"),
        ("points_bins", ""),
        ("0.7/streamlines", ""),
        // A store in which a part has no group.
        ("0.7/zeros", ""),
    ] {
        let home = Home::new(case)?;
        let told = home.json(&[
            "split", STORE, "parts", "--by", "count", "3", "--json", "-q",
        ])?;
        let parts = told["parts"].as_array().cloned().unwrap_or_default();
        let mut files: Vec<String> = parts
            .iter()
            .filter_map(|one| Some(one["file"].as_str()?.to_owned()))
            .collect();
        ensure!(!files.is_empty(), "{case}: {told}");
        let (header, expected) = rows(&home, STORE)?;
        let count: usize = expected.values().map(Vec::len).sum();
        assert_eq!(told["vertices"], json!(count), "{case}");
        let mut found = Rows::new();
        for file in &files {
            let (own, part) = rows(&home, file)?;
            assert_eq!(own, header, "{case}");
            for (id, mut rows) in part {
                found.entry(id).or_default().append(&mut rows);
            }
        }
        found.values_mut().for_each(|rows| rows.sort());
        ensure!(found == expected, "{case}: rows of the parts");
        if files.len() < 2 {
            continue;
        }
        let mut args = vec!["merge".to_owned()];
        args.append(&mut files);
        args.extend(["all.zv", "-q"].map(str::to_owned));
        home.text(&args.iter().map(String::as_str).collect::<Vec<_>>())?;
        ensure!(rows(&home, "all.zv")? == (header, expected), "{case}: rows");
        let same = links(&home, "all.zv", flag)? == links(&home, STORE, flag)?;
        ensure!(same, "{case}: links");
        home.validates("all.zv")?;
    }
    Ok(())
}

/// `split` and `export '{id}.ply'` count the links whose ends are in different parts, or belong to objects in no part.
#[test]
fn links_in_no_part_are_counted() -> Result<()> {
    let home = Home::made(&[
        (
            "../g.csv",
            "x,y,z,object_id\n1,2,3,1\n4,5,6,1\n7,8,9,2\n7,8,8,2\n1,1,1,3\n".into(),
        ),
        ("../e.csv", "source,target\n0,1\n1,2\n2,3\n3,4\n".into()),
    ])?;
    home.text(&[
        "import",
        "g.csv",
        "g.zv",
        "--edges",
        "e.csv",
        "--links-by-row",
    ])?;
    home.text(&["edit", "g.zv", "group", "add", "one", "1", "2"])?;
    home.text(&["edit", "g.zv", "group", "add", "other", "2"])?;
    for (by, left) in [
        (&["count", "1"][..], None),
        (&["count", "5"], Some(2)),
        (&["group"], Some(1)),
    ] {
        let ran = home.zvf(&[&["split", "g.zv", &by.concat(), "--by"][..], by].concat())?;
        ensure!(ran.code == 0, "{by:?}: {}", ran.stderr);
        let says = left.map(|left| {
            format!("links with ends in different parts, or in none: {left}; they are in no part")
        });
        match says {
            Some(says) => ensure!(ran.stderr.contains(&says), "{by:?}: {}", ran.stderr),
            None => ensure!(!ran.stderr.contains("links"), "{by:?}: {}", ran.stderr),
        }
    }
    for (objects, left) in [("1-3", Some(2)), ("1,2", Some(1)), ("3", None)] {
        let ran = home.zvf(&["export", "g.zv", "o/{id}.ply", "--objects", objects])?;
        ensure!(ran.code == 0, "{objects}: {}", ran.stderr);
        let said = ran.stderr.contains("links with ends in different parts");
        let right = left.is_none_or(|left| ran.stderr.contains(&format!("in none: {left};")));
        ensure!(said == left.is_some() && right, "{objects}: {}", ran.stderr);
    }
    Ok(())
}

#[test]
fn a_split_that_fails_says_how_far_it_came() -> Result<()> {
    let home = Home::new("0.7/quads")?;
    std::fs::create_dir(home.file("parts"))?;
    // The store of the second part cannot be made, because a file has its name.
    std::fs::write(home.file("parts/1.zarrvectors"), "text")?;
    let split = ["split", STORE, "parts", "--by", "count", "2"];
    let ran = home.zvf(&split)?;
    let told =
        "parts: 1 of 2 parts are finished; when run again, this command writes only the others";
    ensure!(ran.code != 0 && ran.stderr.contains(told), "{}", ran.stderr);
    std::fs::remove_file(home.file("parts/1.zarrvectors"))?;
    let ran = home.zvf(&split)?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (_, rows) = rows(&home, "parts/1.zarrvectors")?;
    assert_eq!(rows.values().map(Vec::len).sum::<usize>(), 98);
    Ok(())
}

#[test]
fn shared_vertices_and_values_of_unstated_width_are_those_of_each_object() -> Result<()> {
    // The documents do not state that a normal has three values, and the two objects share most vertices.
    let home = Home::new("0.7/quads")?;
    let ran = home.zvf(&["split", STORE, "parts", "--by", "count", "2"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("share: each object gets its own, 89 more"),
        "{}",
        ran.stderr
    );
    for (id, count) in [(0, 89), (1, 98)] {
        let sorted = |args: &[&str]| -> Result<Vec<String>> {
            let columns = ["--format", "csv", "--columns", "position,normal"];
            let text = home.text(&[args, &columns[..]].concat())?;
            let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
            rows.sort();
            Ok(rows)
        };
        let (number, part) = (id.to_string(), format!("parts/{id}.zarrvectors"));
        let wanted = sorted(&["get", STORE, &number])?;
        assert_eq!(wanted.len(), count + 1);
        assert!(
            wanted
                .iter()
                .any(|row| row == "x,y,z,normal_0,normal_1,normal_2")
        );
        assert_eq!(sorted(&["query", &part])?, wanted);
    }
    Ok(())
}

fn tracks(home: &Home) -> Result<()> {
    let mut text = String::from("x,y,z,t,kind,n,id\n");
    for id in [3, 5, 9, 12] {
        for row in 0..4 {
            let kind = if id % 2 == 1 { "odd/one" } else { "even" };
            text.push_str(&format!("{row}.5,{id},1,0.{row}5,{kind},{row},{id}\n"));
        }
    }
    fs::write(home.file("t.csv"), text)?;
    home.text(&[
        "import",
        "t.csv",
        "t.zv",
        "--kind",
        "polyline",
        "--object-column",
        "id",
    ])?;
    fs::write(
        home.file("names.csv"),
        "object_id,side,age\n3,left,7\n5,Left,8\n9,left,7\n12,a/b,\n",
    )?;
    home.text(&[
        "edit",
        "t.zv",
        "set-attribute",
        "side",
        "--object",
        "--type",
        "text",
        "--from",
        "names.csv",
    ])?;
    home.text(&["edit", "t.zv", "group", "add", "AF left", "3", "5"])?;
    home.text(&["edit", "t.zv", "group", "add", "af LEFT", "5", "9"])?;
    Ok(())
}

#[test]
fn parts_by_group_and_by_attribute() -> Result<()> {
    let home = Home::made(&[])?;
    tracks(&home)?;
    let (_, all) = rows(&home, "t.zv")?;
    let ids = |store: &str| -> Result<Vec<String>> {
        let (_, rows) = rows(&home, store)?;
        ensure!(
            rows.iter().all(|(id, rows)| all.get(id) == Some(rows)),
            "{store}"
        );
        Ok(rows.into_keys().collect())
    };
    let ran = home.zvf(&["split", "t.zv", "g", "--by", "group"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("objects of no group: 1"),
        "{}",
        ran.stderr
    );
    assert_eq!(ids("g/AF_left.zarrvectors")?, ["3", "5"]);
    assert_eq!(ids("g/af_LEFT-2.zarrvectors")?, ["5", "9"]);
    let members = groups(&home, "g/AF_left.zarrvectors")?;
    ensure!(
        members
            .values()
            .all(|ids| ids.iter().all(|id| [3, 5].contains(id))),
        "{members:?}"
    );

    home.text(&["split", "t.zv", "a", "--by", "attribute", "side"])?;
    assert_eq!(ids("a/left-2.zarrvectors")?, ["3", "9"]);
    assert_eq!(ids("a/Left.zarrvectors")?, ["5"]);
    assert_eq!(ids("a/a_b.zarrvectors")?, ["12"]);
    // Existing parts are unchanged.
    let told = home.json(&["split", "t.zv", "a", "--by", "attribute", "side", "--json"])?;
    assert_eq!(
        (&told["skipped"], &told["vertices"]),
        (&json!(3), &json!(0))
    );

    // Parts of a selection as files.
    home.text(&[
        "split",
        "t.zv",
        "f",
        "--by",
        "attribute",
        "side",
        "--format",
        "csv",
        "--objects",
        "3,12",
    ])?;
    let text = fs::read_to_string(home.file("f/left.csv"))?;
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(!home.file("f/Left.csv").exists() && home.file("f/a_b.csv").exists());
    for (by, words) in [
        (&["attribute", "none"][..], "side"),
        (&["attribute"], "attribute NAME"),
        (&["count", "0"], "above 0"),
        (&["count", "70000"], "1 to 65536 parts"),
        (&["region"], "--named: found nothing"),
        (&["region", "--named", "a=ball(1)"], "--named"),
        (&["group", "--named", "a=box(x=0:1)"], "--by region"),
    ] {
        let ran = home.zvf(&[&["split", "t.zv", "x", "--by"], by].concat())?;
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(
            ran.stderr.contains(words) && !home.file("x").exists(),
            "{}",
            ran.stderr
        );
    }
    Ok(())
}

#[test]
fn parts_of_a_region_have_the_objects_of_a_query() -> Result<()> {
    for place in [
        &["--near", "x=92,2", "--starting"][..],
        &["--sphere", "96,87,86,8"],
    ] {
        let home = Home::new("real_tractogram")?;
        let everything = rows(&home, STORE)?.1.len();
        let split = [
            "split", STORE, "parts", "--by", "count", "3", "--json", "-q",
        ];
        let told = home.json(&[&split[..], place].concat())?;
        let parts = told["parts"].as_array().context("parts")?;
        let objects: u64 = parts.iter().filter_map(|one| one["objects"].as_u64()).sum();
        let asked = [
            "query",
            STORE,
            "--json",
            "--columns",
            "object_id",
            "--select",
            "objects",
        ];
        let count = home.json(&[&asked[..], place].concat())?["objects"].clone();
        assert_eq!(json!(objects), count, "{place:?}: {told}");
        assert!(objects > 0 && objects < everything as u64, "{told}");
    }
    Ok(())
}

/// The values of a column of a store or file, sorted.
fn column(text: &str, name: &str) -> Result<Vec<i64>> {
    let mut lines = text.lines();
    let header = lines.next().context("a header")?;
    let at = header.split(',').position(|one| one == name);
    let at = at.with_context(|| format!("no {name} in {header}"))?;
    let values = lines.map(|line| Ok(line.split(',').nth(at).context("a value")?.parse()?));
    let mut values = values.collect::<Result<Vec<i64>>>()?;
    values.sort_unstable();
    Ok(values)
}

#[test]
fn parts_by_region_have_the_points_inside() -> Result<()> {
    let places: Vec<[f64; 3]> = (0..200)
        .map(|n| [37 * n % 20, 11 * n % 17, 7 * n % 13].map(|part| f64::from(part) / 2.0))
        .collect();
    let mut text = "x,y,z,n\n".to_owned();
    for (n, [x, y, z]) in places.iter().enumerate() {
        text.push_str(&format!("{x},{y},{z},{n}\n"));
    }
    let home = Home::made(&[("../p.csv", text.into())])?;
    home.text(&["import", "p.csv", "p.zv", "--chunk-shape", "4,4,4"])?;
    type Inside = fn([f64; 3]) -> bool;
    fn in_ball([x, y, z]: [f64; 3]) -> bool {
        (x - 5.0).powi(2) + (y - 4.0).powi(2) + (z - 3.0).powi(2) <= 9.0
    }
    let regions: [(&str, &str, &str, Inside); 4] = [
        ("ball", "sphere(5,4,3,3)", "ball", in_ball),
        ("a/b", "box(x=:4.5,z=2:)", "a_b", |[x, _, z]| {
            x <= 4.5 && z >= 2.0
        }),
        (
            "ring",
            "sphere(5,4,3,3) and not near(y=4,1)",
            "ring",
            |at| in_ball(at) && (at[1] - 4.0).abs() > 1.0,
        ),
        ("none", "box(x=100:)", "none", |_| false),
    ];
    let named = regions.map(|(name, region, ..)| format!("{name}={region}"));
    let named = named.iter().flat_map(|one| ["--named", one]);
    let named: Vec<&str> = named.collect();
    // With and without a selection.
    for (folder, more, most) in [
        ("all", &[][..], 200),
        ("some", &["--where", "n < 150"][..], 150),
    ] {
        let line = ["split", "p.zv", folder, "--by", "region", "--json"];
        let told = home.json(&[&line[..], &named, more].concat())?;
        let mut total = 0;
        for (name, _, file, inside) in regions {
            let numbers = places.iter().take(most).zip(0..);
            let expected: Vec<i64> = numbers
                .filter(|(at, _)| inside(**at))
                .map(|(_, n)| n)
                .collect();
            total += expected.len();
            let store = format!("{folder}/{file}.zarrvectors");
            if expected.is_empty() {
                assert_eq!((name, home.file(&store).exists()), ("none", false));
                continue;
            }
            let rows = home.text(&["query", &store, "--format", "csv"])?;
            assert_eq!(column(&rows, "n")?, expected, "{name}");
            home.validates(&store)?;
        }
        assert_eq!(told["vertices"], json!(total), "{told}");
        assert_eq!(told["parts"].as_array().map(Vec::len), Some(3), "{told}");
        assert_eq!(told["parts"][1]["of"], json!("a/b"));
    }
    Ok(())
}

#[test]
fn parts_by_region_have_whole_objects() -> Result<()> {
    // Object k goes from x = k to x = k + 2.
    let mut text = "x,y,z,id\n".to_owned();
    for (id, step) in (0..10).flat_map(|id| (0..5).map(move |step| (id, step))) {
        text.push_str(&format!(
            "{},0,0,{id}\n",
            f64::from(id) + 0.5 * f64::from(step)
        ));
    }
    let home = Home::made(&[("../l.csv", text.into())])?;
    let import = ["import", "l.csv", "l.zv", "--kind", "polyline"];
    home.text(&[&import[..], &["--object-column", "id"]].concat())?;
    // Decides by the first and the last x of an object.
    type Belongs = fn(f64, f64) -> bool;
    let relations: [(&[&str], Belongs); 3] = [
        (&[], |first, last| first <= 6.0 && last >= 3.0),
        (&["--inside"], |first, last| first >= 3.0 && last <= 6.0),
        (&["--starting"], |first, _| (3.0..=6.0).contains(&first)),
    ];
    for (at, (relation, belongs)) in relations.into_iter().enumerate() {
        let folder = format!("parts{at}");
        let line = [
            "split", "l.zv", &folder, "--by", "region", "--format", "csv", "-q",
        ];
        let named = ["mid=box(x=3:6)", "all=box(x=0:)", "none=box(x=100:)"];
        let named = named.map(|one| ["--named", one]);
        home.text(&[&line[..], named.as_flattened(), relation].concat())?;
        assert!(!home.file(&format!("{folder}/none.csv")).exists());
        let wanted = |id: &i64| belongs(*id as f64, *id as f64 + 2.0);
        let wanted: Vec<i64> = (0..10).filter(wanted).flat_map(|id| [id; 5]).collect();
        let rows = fs::read_to_string(home.file(&format!("{folder}/mid.csv")))?;
        assert_eq!(column(&rows, "object_id")?, wanted, "{relation:?}");
        let rows = fs::read_to_string(home.file(&format!("{folder}/all.csv")))?;
        assert_eq!(rows.lines().count(), 51);
    }
    // Regions within another region.
    let line = [
        "split",
        "l.zv",
        "within",
        "--by",
        "region",
        "--region",
        "box(x=:4)",
    ];
    let told = home.json(&[&line[..], &["--named", "a=box(x=3.5:)", "--json"]].concat())?;
    // Objects with a vertex at 3.5 or 4: from the one that ends at 4 to the one that begins there.
    assert_eq!(told["objects"], json!(3), "{told}");
    // A plane and a relation of the named regions only.
    fs::write(
        home.file("square.wkt"),
        "POLYGON((3 -1, 6 -1, 6 1, 3 1, 3 -1))",
    )?;
    let line = ["split", "l.zv", "planes", "--by", "region", "--json"];
    let more = ["--plane", "xy", "--starting"];
    let named = ["--named", "mid=polygon(@square.wkt)"];
    let told = home.json(&[&line[..], &more, &named].concat())?;
    assert_eq!(told["objects"], json!(4), "{told}");
    Ok(())
}

#[test]
fn points_are_split_by_the_values_of_their_attributes() -> Result<()> {
    let home = Home::made(&[(
        "../p.csv",
        "x,y,z,gene,n\n1,1,1,a'b,4\n2,2,2,c,4\n3,3,3,a'b,5\n".into(),
    )])?;
    home.text(&["import", "p.csv", "p.zv"])?;
    home.text(&["split", "p.zv", "g", "--by", "attribute", "gene"])?;
    assert_eq!(
        rows(&home, "g/a_b.zarrvectors")?.1[""],
        ["1.0,1.0,1.0,a'b,4", "3.0,3.0,3.0,a'b,5"]
    );
    home.text(&[
        "split",
        "p.zv",
        "n",
        "--by",
        "attribute",
        "n",
        "--where",
        "x > 1",
        "--format",
        "csv",
    ])?;
    assert_eq!(fs::read_to_string(home.file("n/4.csv"))?.lines().count(), 2);
    let ran = home.zvf(&["split", "p.zv", "x", "--by", "group"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    Ok(())
}

#[test]
fn each_object_becomes_a_file() -> Result<()> {
    let home = Home::made(&[])?;
    tracks(&home)?;
    fs::create_dir(home.file("out"))?;
    let told = home.json(&["export", "t.zv", "-o", "out/{id}.csv", "--json", "-q"])?;
    assert_eq!(
        (&told["vertices"], told["parts"].as_array().map(Vec::len)),
        (&json!(16), Some(4))
    );
    for id in [3, 5, 9, 12] {
        assert_eq!(
            fs::read_to_string(home.file(&format!("out/{id}.csv")))?
                .lines()
                .count(),
            5
        );
    }
    home.text(&["export", "t.zv", "{side}-{id}.tck", "--objects", "12", "-q"])?;
    assert!(home.file("a_b-12.tck").exists());
    // Two objects with the same name, ignoring case, because some systems ignore it.
    for template in ["out/{side}.csv", "out/{none}.csv", "out/{id.csv}"] {
        let before = fs::read_dir(home.file("out"))?.count();
        let ran = home.zvf(&["export", "t.zv", template])?;
        assert_eq!(ran.code, 2, "{template}: {}", ran.stderr);
        assert_eq!(fs::read_dir(home.file("out"))?.count(), before);
    }
    let home = Home::new("real_skeleton")?;
    home.text(&["export", STORE, "-o", "{id}.swc", "-q"])?;
    let ids = home.json(&["objects", STORE, "--json"])?;
    let id = ids["objects"][0]["object_id"].as_i64().context("an id")?;
    home.text(&[
        "export",
        STORE,
        "one.swc",
        "--objects",
        &id.to_string(),
        "-q",
    ])?;
    assert_eq!(
        fs::read(home.file(&format!("{id}.swc")))?,
        fs::read(home.file("one.swc"))?
    );
    Ok(())
}

#[test]
fn stores_are_merged_with_their_units_attributes_and_groups() -> Result<()> {
    let home = Home::made(&[
        (
            "../a.csv",
            "x,y,z,id,kind,w\n1,2,3,7,soma,1\n2,2,3,7,axon,2\n5,5,5,8,axon,3\n6,5,5,8,soma,4\n"
                .into(),
        ),
        (
            "../b.csv",
            "x,y,z,id,kind,w,f\n1,2,3,7,dend,70000,0.5\n2,2,3,7,soma,2,0.25\n".into(),
        ),
    ])?;
    let import = ["--kind", "polyline", "--object-column", "id"];
    home.text(
        &[
            &[
                "import",
                "a.csv",
                "a.zv",
                "--unit",
                "nm",
                "--attribute-type",
                "w=uint8",
            ],
            &import[..],
        ]
        .concat(),
    )?;
    home.text(&[&["import", "b.csv", "b.zv", "--unit", "um"], &import[..]].concat())?;
    for (store, id) in [("a.zv", "8"), ("b.zv", "7")] {
        home.text(&["edit", store, "group", "add", "AF", id])?;
    }
    let clash = home.zvf(&["merge", "a.zv", "b.zv", "m.zv"])?;
    assert_eq!(
        (clash.code, home.file("m.zv").exists()),
        (2, false),
        "{}",
        clash.stderr
    );
    assert!(clash.stderr.contains("--id-offset"), "{}", clash.stderr);

    let told = home.json(&[
        "merge",
        "a.zv",
        "b.zv",
        "m.zv",
        "--id-offset",
        "100",
        "--json",
        "-q",
    ])?;
    let sums = (&told["vertices"], &told["objects"], &told["groups"]);
    assert_eq!(sums, (&json!(6), &json!(3), &json!(1)), "{told}");
    let (header, found) = rows(&home, "m.zv")?;
    assert_eq!(header, "x,y,z,f,kind,w");
    assert_eq!(
        found["7"],
        ["1.0,2.0,3.0,NaN,soma,1", "2.0,2.0,3.0,NaN,axon,2"]
    );
    assert_eq!(
        found["107"],
        [
            "1000.0,2000.0,3000.0,0.5,dend,70000",
            "2000.0,2000.0,3000.0,0.25,soma,2"
        ]
    );
    let members = home.text(&[
        "query",
        "m.zv",
        "--groups",
        "AF",
        "--columns",
        "object_id",
        "--format",
        "csv",
    ])?;
    let members: BTreeSet<&str> = members.lines().skip(1).collect();
    assert_eq!(members, BTreeSet::from(["107", "8"]));
    assert_eq!(home.zvf(&["validate", "m.zv"])?.code, 0);

    home.text(&["merge", "b.zv", "a.zv", "n.zv", "--new-ids", "-q"])?;
    let (_, found) = rows(&home, "n.zv")?;
    assert_eq!(found.keys().collect::<Vec<_>>(), ["0", "1", "2"]);
    let again = home.zvf(&["merge", "a.zv", "b.zv", "n.zv", "--new-ids"])?;
    assert_eq!(again.code, 2, "{}", again.stderr);
    Ok(())
}

#[test]
fn stores_that_do_not_fit_are_not_merged() -> Result<()> {
    let home = Home::made(&[
        ("../p.csv", "x,y,z,n\n1,2,3,7\n".into()),
        ("../q.csv", "x,y,z\n1,2,3\n".into()),
        ("../r.csv", "x,y,t,n\n1,2,3,7\n".into()),
        ("../s.csv", "x,y,z,n\n1,2,3,word\n".into()),
        ("../l.csv", "x,y,z,id\n1,2,3,7\n2,2,2,7\n".into()),
    ])?;
    for name in ["p", "q", "s"] {
        home.text(&["import", &format!("{name}.csv"), &format!("{name}.zv")])?;
    }
    home.text(&[
        "import",
        "r.csv",
        "r.zv",
        "--position",
        "x,y,t",
        "--axis",
        "t:space",
    ])?;
    home.text(&[
        "import",
        "l.csv",
        "l.zv",
        "--kind",
        "polyline",
        "--object-column",
        "id",
    ])?;
    for (other, words) in [
        ("p.zv", "the same store twice"),
        ("q.zv", "cannot be missing"),
        ("r.zv", "axes: found x, y, t"),
        ("s.zv", "attribute \"n\""),
        ("l.zv", "kind: found polyline"),
    ] {
        let ran = home.zvf(&["merge", "p.zv", other, "m.zv"])?;
        assert_eq!(
            (ran.code, home.file("m.zv").exists()),
            (2, false),
            "{other}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(words), "{other}: {}", ran.stderr);
    }
    Ok(())
}

/// Lines of two vertices stay whole when an answer has several batches.
#[test]
fn many_lines_are_split_and_merged() -> Result<()> {
    let mut text = String::from("x,y,z,object_id\n");
    for row in 0..600_u32 {
        let at = |step: u32| f64::from(row.wrapping_mul(step) % 1000) / 10.0;
        text += &format!("{},{},{},{}\n", at(733), at(517), at(331), row / 2);
    }
    let home = Home::made(&[("../m.csv", text.into())])?;
    home.text(&[
        "import",
        "m.csv",
        "s.zv",
        "--kind",
        "line",
        "--chunk-shape",
        "20,20,20",
    ])?;
    home.text(&["split", "s.zv", "parts", "--by", "count", "2"])?;
    let parts = ["parts/0.zarrvectors", "parts/1.zarrvectors"];
    home.text(&["merge", parts[0], parts[1], "both.zv"])?;
    let (header, all) = rows(&home, "s.zv")?;
    ensure!(all.len() == 300 && all.values().all(|rows| rows.len() == 2));
    ensure!(rows(&home, "both.zv")? == (header, all));
    Ok(())
}
