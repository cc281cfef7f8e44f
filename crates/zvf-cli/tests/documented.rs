//! Runs the commands that `docs/plot.md`, `docs/serve.md` and `docs/tutorials.md` show, on bundled data.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::run::zvf_in;
#[cfg(feature = "serve")]
use crate::serve::Serving;

/// The names of stores on these pages, and the bundled stores that are used instead.
const STORES: [(&str, &str); 4] = [
    ("neuron.zarrvectors", "real_skeleton"),
    ("tracts.zarrvectors", "real_tractogram"),
    ("mesh.zarrvectors", "real_mesh"),
    ("synapses.zarrvectors", "real_synapses"),
];

/// A folder with these stores.
fn home() -> Result<tempfile::TempDir> {
    let home = tempfile::tempdir()?;
    for (name, case) in STORES {
        let folder = home.path().join("unpacked").join(case);
        std::fs::create_dir_all(&folder)?;
        zvf_testkit::unpack_into(case, &folder)?;
        std::fs::rename(folder.join("store.zarrvectors"), home.path().join(name))?;
    }
    Ok(home)
}

fn page(name: &str) -> Result<String> {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    Ok(std::fs::read_to_string(docs.join(name))?.replace("\r\n", "\n"))
}

/// The lines of the fenced blocks of a page that begin with `start`, without this prefix and without comments.
fn shown<'a>(page: &'a str, start: &str) -> Vec<&'a str> {
    let blocks = page.split("\n```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines);
    let lines = lines.filter_map(|line| line.strip_prefix(start));
    lines
        .map(|line| line.split("  #").next().unwrap_or(line).trim())
        .collect()
}

#[test]
fn the_pictures_are_drawn_as_shown() -> Result<()> {
    let home = home()?;
    let page = page("plot.md")?;
    let commands = shown(&page, "zvf ");
    assert!(commands.len() >= 7, "{commands:?}");
    for line in commands {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ran = zvf_in(home.path(), &words)?;
        assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
        let output = words.iter().skip_while(|word| **word != "-o").nth(1);
        match output {
            Some(file) => {
                let start = match file.ends_with(".svg") {
                    true => &b"<svg "[..],
                    false => &b"\x89PNG"[..],
                };
                let bytes =
                    std::fs::read(home.path().join(file)).with_context(|| line.to_owned())?;
                assert!(bytes.starts_with(start), "{line}");
                std::fs::remove_file(home.path().join(file))?;
            }
            None => assert!(!ran.stdout.is_empty(), "{line}"),
        }
        if words.contains(&"--json") {
            let document: serde_json::Value = serde_json::from_slice(&ran.stdout)?;
            // The members that the page explains.
            for member in [
                "right",
                "up",
                "target",
                "target_pixel",
                "units_per_pixel",
                "distance",
            ] {
                assert!(page.contains(&format!("`{member}`")), "{member}");
                assert!(document["camera"].get(member).is_some(), "{member}");
            }
        }
    }
    Ok(())
}

/// The words of a line, split at blanks and quotes like a shell does.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c == ' ' => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(all(feature = "laz", feature = "parquet"))]
#[test]
fn the_walks_print_what_they_show() -> Result<()> {
    let home = tempfile::tempdir()?;
    let bundled = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    for folder in ["real", "las", "tables"] {
        for entry in std::fs::read_dir(bundled.join(folder))? {
            let entry = entry?;
            std::fs::copy(entry.path(), home.path().join(entry.file_name()))?;
        }
    }
    let page = page("tutorials.md")?;
    let mut commands = 0;
    for block in page.split("\n```\n").skip(1).step_by(2) {
        for step in format!("\n{block}\n").split("\n$ zvf ").skip(1) {
            // The page shows no output for a command that prints nothing.
            let (line, shown) = step.split_once('\n').unwrap_or((step, ""));
            let words = shell_words(line);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let ran = zvf_in(home.path(), &words)?;
            let said = String::from_utf8(ran.stdout)? + &ran.stderr;
            assert_eq!(said.trim_end(), shown.trim_end(), "{line}");
            commands += 1;
        }
    }
    assert!(commands > 25, "{commands}");
    Ok(())
}

#[cfg(feature = "serve")]
#[test]
fn a_server_answers_as_shown() -> Result<()> {
    let home = home()?;
    let page = page("serve.md")?;
    let commands = shown(&page, "$ zvf ");
    assert_eq!(commands.len(), 1, "{commands:?}");
    for line in commands {
        // A local store replaces the one in a bucket, and a free port replaces 8080.
        let line = line.replace("s3://bucket/", "");
        ensure!(line.contains("--port 8080"), "{line}");
        let line = line.replace("--port 8080", "--port 0");
        let words: Vec<&str> = line.split_whitespace().collect();
        let serving = Serving::start_in(home.path(), &words)?;
        assert!(serving.address()?.0.starts_with("127.0.0.1:"));
        let answer = |path: &str, reply: String| -> Result<String> {
            let (head, body) = reply.split_once("\r\n\r\n").context("no head")?;
            ensure!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
            Ok(body.to_owned())
        };
        let body = |path: &str| answer(path, serving.get(path)?);
        for path in ["/", "/stores", "/state.json"] {
            assert!(page.contains(&format!("| `{path}` |")), "{path}");
            assert!(!body(path)?.is_empty(), "{path}");
        }
        for (name, view) in [
            ("neuron", "skeletons"),
            ("tracts", "lines"),
            ("tracts", "skeletons"),
        ] {
            assert!(page.contains(&format!("| `{view}` |")), "{view}");
            body(&format!("/store/{name}/zarr.json"))?;
            assert!(body(&format!("/precomputed/{name}/{view}/info"))?.contains("@type"));
        }
        let curls = shown(&page, "curl ");
        assert_eq!(curls.len(), 2, "{curls:?}");
        for curl in curls {
            let (url, posted) = match curl.split_once(" -d ") {
                Some((url, posted)) => (url, Some(posted.trim_matches('\''))),
                None => (curl.trim_matches('\''), None),
            };
            let path = url
                .strip_prefix("http://127.0.0.1:8080")
                .context("the port")?;
            let rows = match posted {
                Some(posted) => answer(path, serving.send("POST", path, posted)?)?,
                None => body(path)?,
            };
            assert!(rows.contains("position"), "{rows}");
        }
    }
    Ok(())
}

#[cfg(feature = "serve")]
#[test]
fn views_become_files_and_a_store_again_as_shown() -> Result<()> {
    let home = home()?;
    let page = page("serve.md")?;
    for (shown, line) in [
        (
            "zvf export STORE DIR --format precomputed",
            "export neuron.zarrvectors out --format precomputed",
        ),
        (
            "zvf import DIR/skeletons STORE",
            "import out/skeletons again.zarrvectors",
        ),
    ] {
        assert!(page.contains(shown), "{shown}");
        let words: Vec<&str> = line.split_whitespace().collect();
        let ran = zvf_in(home.path(), &words)?;
        assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
    }
    assert!(home.path().join("again.zarrvectors/zarr.json").is_file());
    Ok(())
}
