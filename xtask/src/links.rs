//! Links of Markdown pages: part of `cargo xtask tidy`, and what `cargo xtask site` rewrites.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use crate::{Outcome, sh};

/// A link or picture, `[text](target)`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The place of `[text](target)` in the page.
    pub(crate) whole: Range<usize>,
    /// The place of the target.
    pub(crate) target: Range<usize>,
}

/// Checks every internal link of every Markdown file below `root`: the file and the heading exist.
pub(crate) fn check(root: &Path, findings: &mut Vec<String>) -> Outcome {
    let mut pages = BTreeMap::new();
    for path in sh::files(root)? {
        // The list of pages of the site names pages that are assembled from others.
        let is_list = path.ends_with("SUMMARY.md");
        if path.extension().is_some_and(|ending| ending == "md") && !is_list {
            pages.insert(path.clone(), std::fs::read_to_string(&path)?);
        }
    }
    let headings: BTreeMap<&Path, BTreeSet<String>> = pages
        .iter()
        .map(|(path, text)| (path.as_path(), anchors(text)))
        .collect();
    for (path, text) in &pages {
        let folder = path.parent().unwrap_or(root);
        for link in links(text) {
            let target = text.get(link.target.clone()).unwrap_or_default();
            if let Some(problem) = broken(path, folder, target, &headings) {
                let line = text[..link.whole.start].matches('\n').count() + 1;
                let name = path.strip_prefix(root).unwrap_or(path).display();
                findings.push(format!("{name}:{line}: the link {target} {problem}"));
            }
        }
    }
    Ok(())
}

/// What is wrong with a link of a page.
fn broken(
    page: &Path,
    folder: &Path,
    target: &str,
    headings: &BTreeMap<&Path, BTreeSet<String>>,
) -> Option<&'static str> {
    if is_external(target) {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() {
        page.to_path_buf()
    } else {
        resolve(folder, file)
    };
    if !path.exists() {
        return Some("leads to no file");
    }
    let known = headings.get(path.as_path());
    let there = anchor.is_empty() || known.is_none_or(|known| known.contains(anchor));
    (!there).then_some("leads to no heading")
}

/// Whether a target is an address of the network.
pub(crate) fn is_external(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// The path of a relative target, without `.` and `..`.
pub(crate) fn resolve(folder: &Path, file: &str) -> PathBuf {
    let mut path = folder.to_path_buf();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// The links of a page in order, without those in code.
pub(crate) fn links(page: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for line in prose(page) {
        let text = &page[line.clone()];
        let mut from = 0;
        while let Some(middle) = text[from..].find("](") {
            let middle = from + middle;
            from = middle + 2;
            let open = text[..middle].rfind('[');
            let close = text[from..].find(')');
            let (Some(open), Some(close)) = (open, close) else {
                continue;
            };
            // In code: an odd number of marks before it.
            if text[..open].matches('`').count() % 2 == 1 {
                continue;
            }
            let target = line.start + from..line.start + from + close;
            let open = match text[..open].ends_with('!') {
                true => open - 1,
                false => open,
            };
            found.push(Link {
                whole: line.start + open..target.end + 1,
                target,
            });
        }
    }
    found
}

/// The lines of a page that are not in a block of code.
fn prose(page: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    let mut code = false;
    page.split_inclusive('\n').filter_map(move |line| {
        let range = at..at + line.len();
        at = range.end;
        if line.trim_start().starts_with("```") {
            code = !code;
            return None;
        }
        (!code).then_some(range)
    })
}

/// The anchors of the headings of a page, as code hosts and mdBook make them.
pub(crate) fn anchors(page: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for line in prose(page) {
        let line = page[line].trim_end();
        let Some(heading) = line.trim_start_matches('#').strip_prefix(' ') else {
            continue;
        };
        if !line.starts_with('#') {
            continue;
        }
        let slug: String = heading
            .chars()
            .filter_map(|letter| match letter {
                ' ' => Some('-'),
                '-' | '_' => Some(letter),
                letter if letter.is_alphanumeric() => letter.to_lowercase().next(),
                _ => None,
            })
            .collect();
        let count = counts.entry(slug.clone()).or_default();
        found.insert(match *count {
            0 => slug,
            n => format!("{slug}-{n}"),
        });
        *count += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_code_are_none() {
        let page = "a [b](c.md#d) `[x](y)` ![p](q.png)\n```sh\n[no](no)\n```\n[z](#end)\n";
        let found: Vec<_> = links(page)
            .into_iter()
            .map(|link| (&page[link.target], &page[link.whole]))
            .collect();
        let wanted = [
            ("c.md#d", "[b](c.md#d)"),
            ("q.png", "![p](q.png)"),
            ("#end", "[z](#end)"),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn anchors_are_those_of_hosts() {
        let page =
            "# What `zvf` costs, in MB\n```\n# no\n```\n## Two  spaces\n## Again\n## Again\n";
        let wanted = ["again", "again-1", "two--spaces", "what-zvf-costs-in-mb"];
        assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn broken_links_are_found() {
        let root = sh::root();
        let page = root.join("docs").join("page.md");
        let guide = root.join("docs").join("guide.md");
        let headings = BTreeMap::from([(guide.as_path(), BTreeSet::from(["query".to_owned()]))]);
        let problem = |target| broken(&page, &root.join("docs"), target, &headings);
        assert_eq!(problem("guide.md#query"), None);
        assert_eq!(problem("../README.md"), None);
        assert_eq!(problem("guide.md#no"), Some("leads to no heading"));
        assert_eq!(problem("no.md"), Some("leads to no file"));
        assert_eq!(problem("https://example.org/no.md"), None);
    }
}
