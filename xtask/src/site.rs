//! `cargo xtask site`: the pages of the documentation as a site with search, by mdBook. It works from files, without a server.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Outcome, links, python, sh};

/// Pages that have another name in the site: those outside `docs`, and the first page, whose name mdBook would change.
const PAGES: &[(&str, &str)] = &[
    ("docs/README.md", "index.md"),
    ("README.md", "overview.md"),
    ("ARCHITECTURE.md", "architecture.md"),
    ("CHANGELOG.md", "changelog.md"),
    ("CONTRIBUTING.md", "contributing.md"),
    ("SECURITY.md", "security.md"),
];

/// Assembles the pages below the target folder, checks their links, and builds the site.
pub(crate) fn run(_: &[String]) -> Outcome {
    let root = sh::root();
    let book = sh::target().join("site");
    if book.exists() {
        fs::remove_dir_all(&book)?;
    }
    let source = book.join("src");
    fs::create_dir_all(source.join("pictures"))?;
    let docs = root.join("docs");
    fs::copy(docs.join("book.toml"), book.join("book.toml"))?;
    let summary = fs::read_to_string(docs.join("SUMMARY.md"))?;
    let mut findings = Vec::new();
    for path in sh::files(&docs)? {
        let name = path
            .strip_prefix(&docs)?
            .to_string_lossy()
            .replace('\\', "/");
        if name.ends_with(".md") && name != "README.md" {
            fs::write(source.join(&name), page(&root, &path)?)?;
            if name != "SUMMARY.md" && !summary.contains(&format!("({name})")) {
                findings.push(format!("docs/SUMMARY.md: {name} is missing"));
            }
        } else if !["README.md", "book.toml"].contains(&&*name) {
            let copy = source.join(&name);
            fs::create_dir_all(copy.parent().unwrap_or(&source))?;
            fs::copy(&path, copy)?;
        }
    }
    for (file, name) in PAGES {
        fs::write(source.join(name), page(&root, &root.join(file))?)?;
    }
    links::check(&source, &mut findings)?;
    if !findings.is_empty() {
        return Err(findings.join("\n").into());
    }
    sh::run(sh::command(mdbook()?).arg("build").arg(&book))?;
    println!("{}", book.join("html").join("index.html").display());
    Ok(())
}

/// A page of the repository with the links of the site.
fn page(root: &Path, path: &Path) -> Outcome<String> {
    let text = fs::read_to_string(path)?;
    let folder = path.parent().unwrap_or(root);
    // The list of pages names those of the site.
    if path.ends_with("SUMMARY.md") {
        return Ok(text);
    }
    Ok(rewrite(root, folder, &text))
}

/// Replaces targets outside the site by those in it; of a link to any other file only its text remains.
fn rewrite(root: &Path, folder: &Path, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for link in links::links(text) {
        let target = &text[link.target.clone()];
        let (file, anchor) = target
            .find('#')
            .map_or((target, ""), |middle| target.split_at(middle));
        if links::is_external(target) || file.is_empty() {
            continue;
        }
        let path = links::resolve(folder, file);
        let path = path.strip_prefix(root).unwrap_or(&path);
        let name = path.to_string_lossy().replace('\\', "/");
        let outside = PAGES.iter().find(|(file, _)| *file == name);
        let inside = name.strip_prefix("docs/");
        match outside.map(|(_, name)| *name).or(inside) {
            Some(name) => {
                out.push_str(&text[at..link.target.start]);
                out.push_str(name);
                out.push_str(anchor);
                at = link.target.end;
            }
            None => {
                let whole = &text[link.whole.clone()];
                let words = whole.split("](").next().unwrap_or_default();
                out.push_str(&text[at..link.whole.start]);
                out.push_str(words.trim_start_matches(['!', '[']));
                at = link.whole.end;
            }
        }
    }
    out.push_str(&text[at..]);
    out
}

/// The program: the one that is installed, else that of requirements.lock.
fn mdbook() -> Outcome<PathBuf> {
    let installed = std::process::Command::new("mdbook")
        .arg("--version")
        .output();
    if installed.is_ok_and(|output| output.status.success()) {
        return Ok(PathBuf::from("mdbook"));
    }
    let file = format!("mdbook{}", std::env::consts::EXE_SUFFIX);
    Ok(python::SITE.folder()?.join("bin").join(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_of_the_site_or_become_text() {
        let root = sh::root();
        let text = "[a](../README.md#the-crates) [b](guide.md) [c](../crates/zvf-io) [d](#e) [f](https://example.org)";
        assert_eq!(
            rewrite(&root, &root.join("docs"), text),
            "[a](overview.md#the-crates) [b](guide.md) c [d](#e) [f](https://example.org)"
        );
        let text = "![p](docs/pictures/tracts.png) [g](docs/guide.md#x) [i](docs/README.md)";
        assert_eq!(
            rewrite(&root, &root, text),
            "![p](pictures/tracts.png) [g](guide.md#x) [i](index.md)"
        );
    }
}
