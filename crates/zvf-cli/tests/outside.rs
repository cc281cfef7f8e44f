//! Commands do not write files into the folder of a store, and read only files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::run::{Home, STORE, files};

#[test]
fn no_output_lies_in_a_store() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    fs::write(home.file("p.csv"), "x,y,z\n1,2,3\n4,5,6\n")?;
    symlink(home.file(STORE).join("zarr.json"), home.file("link.csv"))?;
    symlink(home.file(STORE), home.file("linked"))?;
    let frame = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/caterva/b15_f4_2d_shuffle_bytedelta.b2nd");
    fs::copy(frame, home.file("v.b2nd"))?;
    let before = files(&home.file(STORE))?;
    let root = format!("{STORE}/zarr.json");
    let cell = format!("{STORE}/0/vertices/c/x.csv");
    let new = format!("{STORE}/new.zarr");
    let (inner, deep) = (format!("{STORE}/1"), format!("{STORE}/0/vertices/c/9"));
    for args in [
        &["validate", STORE, "-o", &root][..],
        &["validate", STORE, "--resume", &root],
        &["query", STORE, "--trace-io", &root],
        &["query", STORE, "-o", &cell],
        &["query", STORE, "-o", "linked/x.csv"],
        &["query", STORE, "--trace-io", "link.csv"],
        &["export", STORE, &cell],
        &["repair", STORE, "--apply", "--backup", &inner],
        &["repair", STORE, "--apply", "--backup", STORE],
        &["import", "p.csv", &inner],
        &["import", "p.csv", &deep],
        &["import", "p.csv", "linked/2"],
        &["import", "p.csv", "new.zv", "--journal", &cell],
        &["migrate", STORE, &inner, "--to", "0.9.2"],
        &["rechunk", STORE, &inner, "--chunk-shape", "7,7,7"],
        &["volume", "convert", "v.b2nd", &new],
        &["man", &deep],
        &[
            "volume",
            "slice",
            "v.b2nd",
            "-o",
            &format!("{STORE}/0/x.npy"),
        ],
    ] {
        let ran = home.zvf(args)?;
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("store"), "{args:?}: {}", ran.stderr);
        assert_eq!(files(&home.file(STORE))?, before, "{args:?}");
    }
    assert!(!home.file("new.zv").exists());
    Ok(())
}

/// Reading a pipe without a writer would block, and a device has no end.
#[test]
fn only_files_are_read() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    let make = |path: &Path| -> Result<()> {
        let made = Command::new("mkfifo").arg(path).status()?;
        ensure!(made.success(), "mkfifo: {made}");
        Ok(())
    };
    for name in [
        "p.csv",
        "p.npy",
        "p.arrow",
        "p.parquet",
        "p.swc",
        "p.trk",
        "p.npz",
        "v.tet",
    ] {
        make(&home.file(name))?;
        let ran = match name {
            "v.tet" => home.zvf(&["volume", "info", name])?,
            _ => home.zvf(&["import", name, "new.zv"])?,
        };
        assert!(matches!(ran.code, 3 | 4), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("named pipe"), "{name}: {}", ran.stderr);
    }
    for args in [
        &["info", "v.tet"][..],
        &["get", STORE, "@p.csv"],
        &["edit", STORE, "append", "p.csv"],
    ] {
        let ran = home.zvf(args)?;
        assert!(ran.code > 1, "{args:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("named pipe"),
            "{args:?}: {}",
            ran.stderr
        );
    }
    let store = home.file(STORE);
    let first = |folder: &Path| -> Result<std::path::PathBuf> {
        let mut path = folder.to_owned();
        while path.is_dir() {
            let mut names: Vec<_> = fs::read_dir(&path)?
                .flatten()
                .map(|one| one.path())
                .collect();
            names.sort();
            path = names.swap_remove(0);
        }
        Ok(path)
    };
    let cell = first(&store.join("0/vertices/c"))?;
    for (path, device) in [
        (cell.clone(), false),
        (cell, true),
        (store.join("0/vertices/zarr.json"), false),
        (store.join("zarr.json"), false),
    ] {
        let kept = fs::read(&path)?;
        fs::remove_file(&path)?;
        if device {
            symlink("/dev/zero", &path)?;
        } else {
            make(&path)?;
        }
        for args in [
            &["query", STORE][..],
            &["validate", STORE, "--level", "5"],
            &["repair", STORE],
            &["edit", STORE, "delete", "1"],
            &["vacuum", STORE],
            &["pyramid", STORE, "--factors", "2"],
        ] {
            let ran = home.zvf(args)?;
            let touches = !matches!(args[0], "vacuum" | "edit");
            assert!(ran.code != 0 || !touches, "{args:?}, {}", path.display());
        }
        fs::remove_file(&path)?;
        fs::write(&path, kept)?;
    }
    Ok(())
}
