//! Appended links of tables and mesh files: the columns of their ends are known, and the number of ends is that of the store's links.

use anyhow::{Context, Result, ensure};

use crate::run::Home;

/// The sorted links of a store by the attribute `id` of their ends, with their other columns, as the program prints them.
fn links(home: &Home, store: &str, table: &str) -> Result<Vec<String>> {
    for name in ["rows.csv", "ends.csv"] {
        let _ = std::fs::remove_file(home.file(name));
    }
    home.text(&["export", store, "rows.csv", table, "ends.csv"])?;
    let rows = std::fs::read_to_string(home.file("rows.csv"))?;
    let mut rows = rows.lines().map(|line| line.split(',').map(str::to_owned));
    let at = rows
        .next()
        .and_then(|mut names| names.position(|name| name == "id"));
    let at = at.context("a column id")?;
    let ids: Vec<String> = rows.filter_map(|mut row| row.nth(at)).collect();
    let ends = std::fs::read_to_string(home.file("ends.csv"))?;
    let names = ends.lines().next().context("a header")?;
    let width = names
        .split(',')
        .filter(|name| name.starts_with("vertices_"))
        .count();
    let link = |line: &str| {
        let shown = line.split(',').enumerate().map(|(column, value)| {
            let end = value.parse::<usize>().ok().filter(|_| column < width);
            end.and_then(|row| ids.get(row))
                .map_or_else(|| value.to_owned(), Clone::clone)
        });
        shown.collect::<Vec<_>>().join(" ")
    };
    let mut links: Vec<String> = ends.lines().skip(1).map(link).collect();
    links.sort();
    Ok(links)
}

fn refused(home: &Home, args: &[&str], words: &[&str]) -> Result<()> {
    let ran = home.zvf(args)?;
    ensure!(ran.code == 2 || ran.code == 4, "{args:?}: {}", ran.stderr);
    for word in words {
        ensure!(
            ran.stderr.contains(word),
            "{args:?}: {word}: {}",
            ran.stderr
        );
    }
    Ok(())
}

/// Eight vertices, with ids from `first` on.
fn vertices(first: usize) -> String {
    let row = |at: usize| format!("{at},{},{},{}\n", at * at % 7, at % 3, first + at);
    let rows: String = (0..8).map(row).collect();
    format!("x,y,z,id\n{rows}")
}

#[test]
fn ends_of_appended_links_are_columns_of_their_names() -> Result<()> {
    let tables = [
        ("a", "w,source,target\n0,1,2\n2,0,1\n", &[][..]),
        ("b", "w,from,to\n0,1,2\n2,0,1\n", &[]),
        ("c", "w,parent,child\n0,2,1\n2,1,0\n", &[]),
        ("d", "vertices_1,w,vertices_0\n2,0,1\n1,2,0\n", &[]),
        ("e", "w,u,v\n0,1,2\n2,0,1\n", &["--link-columns", "u,v"]),
    ];
    for (name, table, more) in tables {
        let home = Home::made(&[
            ("../v.csv", vertices(0).into()),
            ("../e.csv", "source,target,w\n0,1,5\n".into()),
            ("../more.csv", vertices(10).into()),
            ("../l.csv", table.into()),
        ])?;
        home.text(&[
            "import",
            "v.csv",
            "g.zv",
            "--edges",
            "e.csv",
            "--links-by-row",
        ])?;
        let append = [
            "append",
            "g.zv",
            "more.csv",
            "--links",
            "l.csv",
            "--links-by-row",
        ];
        let ran = home.zvf(&[&append[..], more].concat())?;
        ensure!(ran.code == 0, "{name}: {}", ran.stderr);
        ensure!(!ran.stderr.contains("left out"), "{name}: {}", ran.stderr);
        assert_eq!(
            links(&home, "g.zv", "--edges")?,
            ["0 1 5", "10 11 2", "11 12 0"],
            "{name}"
        );
        // No column states which vertices links refer to.
        if !more.is_empty() {
            refused(&home, &append, &["source and target"])?;
        }
    }
    Ok(())
}

#[test]
fn what_zvf_links_lists_is_no_table_of_rows() -> Result<()> {
    let home = Home::made(&[
        ("../v.csv", vertices(0).into()),
        ("../e.csv", "source,target,w\n0,1,5\n".into()),
    ])?;
    home.text(&[
        "import",
        "v.csv",
        "g.zv",
        "--edges",
        "e.csv",
        "--links-by-row",
    ])?;
    // The columns are chunks and rows of the store, and must not be taken as ends.
    home.text(&["links", "g.zv", "-o", "l.csv"])?;
    let append = ["append", "g.zv", "v.csv", "--links", "l.csv", "--new-ids"];
    refused(&home, &append, &["vertices_0"])
}

fn mesh(first: usize, faces: &[&[usize]]) -> String {
    let mut text = format!(
        "ply\nformat ascii 1.0\nelement vertex 8\nproperty float x\nproperty float y\nproperty float z\nproperty int id\nelement face {}\nproperty list uchar int vertex_indices\nend_header\n",
        faces.len()
    );
    for at in 0..8 {
        text += &format!("{at} {} {} {}\n", at * at % 7, at % 3, first + at);
    }
    for face in faces {
        let corners: Vec<String> = face.iter().map(ToString::to_string).collect();
        text += &format!("{} {}\n", face.len(), corners.join(" "));
    }
    text
}

/// Twelve corners may be four triangles or three quads, so that their number must not be guessed.
#[test]
fn faces_of_other_corners_are_cut_or_refused() -> Result<()> {
    let quads = mesh(10, &[&[0, 1, 2, 3], &[1, 2, 3, 4], &[2, 3, 4, 5]]);
    let triangles = mesh(20, &[&[0, 1, 2], &[1, 2, 3], &[2, 3, 4], &[3, 4, 5]]);
    let home = Home::made(&[
        ("../t.ply", mesh(0, &[&[0, 1, 2]]).into()),
        ("../q.ply", quads.into()),
        ("../more.ply", triangles.into()),
        ("../v.csv", vertices(30).into()),
        (
            "../quads.csv",
            "a,b,c,d\n0,1,2,3\n1,2,3,4\n2,3,4,5\n".into(),
        ),
        (
            "../triangles.csv",
            "a,b,c\n0,1,2\n1,2,3\n2,3,4\n3,4,5\n".into(),
        ),
    ])?;
    home.text(&["import", "t.ply", "t.zv"])?;
    home.text(&["import", "q.ply", "q.zv"])?;
    let ran = home.zvf(&["append", "t.zv", "q.ply"])?;
    ensure!(ran.code == 0, "{}", ran.stderr);
    ensure!(
        ran.stderr
            .contains("3 faces of four corners were cut into triangles"),
        "{}",
        ran.stderr
    );
    let cut = [
        "0 1 2", "10 11 12", "10 12 13", "11 12 13", "11 13 14", "12 13 14", "12 14 15",
    ];
    assert_eq!(links(&home, "t.zv", "--faces")?, cut);
    // Quads that are not in a mesh file have attributes and cannot be cut.
    home.text(&["query", "q.zv", "-o", "dir"])?;
    let table = ["v.csv", "--links", "quads.csv", "--links-by-row"];
    for source in [&table[..], &["dir"], &["q.zv"]] {
        let args = [&["append", "t.zv"], source, &["--new-ids"]].concat();
        refused(&home, &args, &["4 ends", "expected 3", "mesh file"])?;
    }
    let table = ["v.csv", "--links", "triangles.csv", "--links-by-row"];
    for (source, word) in [(&table[..], "expected 4"), (&["more.ply"], "zvf import")] {
        let args = [&["append", "q.zv"], source, &["--new-ids"]].concat();
        refused(&home, &args, &["3", word])?;
    }
    assert_eq!(links(&home, "t.zv", "--faces")?, cut);
    Ok(())
}

/// The kind of several files is that of their links, in any order; a mesh may lack faces, and a graph edges, also in what the program writes.
#[test]
fn files_without_links_are_read_in_any_order() -> Result<()> {
    let graph = mesh(10, &[]).replace(
        "element face 0\nproperty list uchar int vertex_indices\nend_header\n",
        "element edge 1\nproperty int vertex1\nproperty int vertex2\nend_header\n",
    ) + "3 4\n";
    let home = Home::made(&[
        ("../t.ply", mesh(0, &[&[0, 1, 2]]).into()),
        ("../none.ply", mesh(20, &[]).into()),
        ("../g.ply", graph.into()),
        ("../v.csv", vertices(0).into()),
        ("../e.csv", "source,target\n".into()),
    ])?;
    for (first, second) in [("t.ply", "none.ply"), ("none.ply", "t.ply")] {
        let store = format!("{first}.zv");
        home.text(&["import", first, second, &store])?;
        assert_eq!(links(&home, &store, "--faces")?, ["0 1 2"]);
    }
    for (first, second) in [("t.ply", "g.ply"), ("g.ply", "t.ply")] {
        let import = ["import", first, second, "x.zv"];
        let as_in = format!("as in {first}");
        let words = [second, "faces", "edges", &as_in, "--kind point_cloud"];
        refused(&home, &import, &words)?;
    }
    home.text(&["import", "none.ply", "n.zv", "--kind", "mesh"])?;
    home.text(&["append", "n.zv", "t.ply", "--new-ids"])?;
    home.text(&["append", "n.zv", "none.ply", "--new-ids"])?;
    assert_eq!(links(&home, "n.zv", "--faces")?, ["0 1 2"]);
    let edges = ["--edges", "e.csv", "--links-by-row"];
    home.text(&[&["import", "v.csv", "e.zv"], &edges[..]].concat())?;
    let parquet = ["--edges", "e.parquet"];
    home.text(&[&["export", "e.zv", "v.parquet"], &parquet[..]].concat())?;
    home.text(&[&["import", "v.parquet", "again.zv"], &parquet[..]].concat())?;
    assert_eq!(links(&home, "again.zv", "--edges")?, [""; 0]);
    home.text(&["export", "e.zv", "e.ply"])?;
    home.text(&["import", "e.ply", "ply.zv", "--kind", "graph"])?;
    Ok(())
}

/// Link attributes are not converted to the categories of a vertex attribute of the same name.
#[test]
fn links_have_values_of_their_own_beside_texts_of_that_name() -> Result<()> {
    let table = |first: usize| {
        let words: Vec<String> = vertices(first)
            .lines()
            .enumerate()
            .map(|(at, line)| match at {
                0 => format!("{line},w\n"),
                _ => format!("{line},t{}\n", at % 3),
            })
            .collect();
        words.concat()
    };
    let home = Home::made(&[
        ("../v.csv", table(0).into()),
        ("../e.csv", "source,target,w\n0,1,5\n".into()),
        ("../more.csv", table(10).into()),
        ("../l.csv", "source,target,w\n2,3,9\n".into()),
        ("../bare.csv", "source,target\n4,5\n".into()),
    ])?;
    home.text(&[
        "import",
        "v.csv",
        "g.zv",
        "--edges",
        "e.csv",
        "--links-by-row",
    ])?;
    let append = |more: &[&str]| {
        let args = ["append", "g.zv", "more.csv", "--links-by-row", "--links"];
        home.text(&[&args[..], more].concat())
    };
    append(&["l.csv"])?;
    append(&["bare.csv", "--fill", "w=7"])?;
    home.text(&["query", "g.zv", "-o", "dir"])?;
    home.text(&["append", "g.zv", "dir", "--new-ids"])?;
    let all = ["0 1 5", "0 1 5", "12 13 9", "12 13 9", "14 15 7", "14 15 7"];
    assert_eq!(links(&home, "g.zv", "--edges")?, all);
    let words = home.text(&["query", "g.zv", "--columns", "id,w", "--format", "csv"])?;
    for line in words.lines().skip(1) {
        let (id, word) = line.split_once(',').context("two columns")?;
        let at: usize = id.parse()?;
        assert_eq!(word, format!("t{}", (at % 10 + 1) % 3), "{id}");
    }
    Ok(())
}

/// Pairs of points become lines, from tables of every format, also with integer positions.
#[test]
fn tables_become_lines() -> Result<()> {
    let home = Home::made(&[(
        "../l.csv",
        "object_id,x,y,z\n3,1,1,1\n3,2,2,2\n5,4,4,4\n5,9,9,9\n".into(),
    )])?;
    home.text(&["import", "l.csv", "l.zv", "--kind", "line"])?;
    for name in ["o.ndjson", "o.arrow", "o.parquet", "o.npz"] {
        home.text(&["query", "l.zv", "--select", "objects", "-o", name])?;
        home.text(&["import", name, "again.zv", "--kind", "line"])?;
        let info = home.json(&["info", "again.zv", "--json"])?;
        ensure!(info["kind"] == "line", "{name}: {info}");
        let list = home.json(&["objects", "again.zv", "--json"])?;
        let list = list["objects"].as_array().context("objects")?.clone();
        let ids: Vec<_> = list.iter().map(|one| one["object_id"].as_i64()).collect();
        assert_eq!(ids, [Some(3), Some(5)], "{name}");
        std::fs::remove_dir_all(home.file("again.zv"))?;
    }
    std::fs::write(home.file("three.csv"), "x,y,z\n1,1,1\n2,2,2\n4,4,4\n")?;
    refused(
        &home,
        &["import", "three.csv", "t.zv", "--kind", "line"],
        &["line"],
    )
}
