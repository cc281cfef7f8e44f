//! For the feature `viewer`: lists the files that `cargo xtask viewer` built, so that the compiler embeds them.
#![allow(clippy::print_stdout, reason = "cargo reads what build scripts print")]

use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

/// Names the folder of the viewer; without it, the folder `viewer` of the target folder.
const FOLDER: &str = "ZVF_VIEWER";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_VIEWER").is_none() {
        return Ok(());
    }
    println!("cargo::rerun-if-env-changed={FOLDER}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let folder = match std::env::var_os(FOLDER) {
        Some(folder) => PathBuf::from(folder),
        None => {
            let mut folders = out.ancestors().map(|folder| folder.join("viewer"));
            let found = folders.find(|folder| folder.join("index.html").is_file());
            found.ok_or(
                "the feature `viewer` embeds what `cargo xtask viewer` builds: run that first",
            )?
        }
    };
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    collect(&folder, "", &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for (name, path) in files {
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(&path)?);
        let tag = format!("\"{:016x}\"", hasher.finish());
        let path = path.to_str().ok_or("a path that is no UTF-8")?;
        let route = format!("/{name}");
        list.push_str(&format!(
            "    File {{ route: {route:?}, tag: {tag:?}, bytes: include_bytes!({path:?}) }},\n"
        ));
    }
    list.push_str("]\n");
    fs::write(out.join("viewer.rs"), list)?;
    Ok(())
}

/// The files below a folder: names with slashes, and absolute paths.
fn collect(
    folder: &Path,
    prefix: &str,
    files: &mut Vec<(String, PathBuf)>,
) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = fs::canonicalize(entry?.path())?;
        let name = path.file_name().and_then(|name| name.to_str());
        let name = format!("{prefix}{}", name.ok_or("a name that is no UTF-8")?);
        match path.is_dir() {
            true => collect(&path, &format!("{name}/"), files)?,
            false => files.push((name, path)),
        }
    }
    Ok(())
}
