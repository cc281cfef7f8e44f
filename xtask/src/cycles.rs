//! Import cycles between the modules of a crate, a part of `cargo xtask tidy`.
//!
//! A module is a source file. It imports another one where a path that starts with `crate`, `self` or `super` ends at an item of that one;
//! paths through a re-export count for the module that defines the item. A re-export of a module's own descendants is a facade and no
//! import, and neither is what a module takes from its own children by paths that start with their names. Paths are found in the text,
//! without the compiler: what a macro makes is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::{Outcome, sh};

/// Finds the import cycles of every crate of the workspace. The Python extension is not in it: its classes return each other.
pub(crate) fn check(root: &Path, findings: &mut Vec<String>) -> Outcome {
    for folder in ["crates", "xtask"] {
        for path in sh::files(&root.join(folder))? {
            let sources = path.with_file_name("src");
            if !path.ends_with("Cargo.toml") || !sources.is_dir() {
                continue;
            }
            for cycle in cycles(&Crate::read(&sources)?) {
                let name = sources.strip_prefix(root)?.display();
                findings.push(format!("{name}: import cycle of {}", cycle.join(", ")));
            }
        }
    }
    Ok(())
}

/// One module: its path below the crate, as segments.
type Module = Vec<String>;

/// The modules of one crate and the paths in each.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<Module, Source>,
}

/// What one module's text says.
#[derive(Default)]
struct Source {
    /// Names that `use` brings in, with the absolute path behind each; `*` for globs.
    names: Vec<(String, Vec<String>)>,
    /// Absolute paths that the module names, with whether the path is re-exported.
    paths: Vec<(Vec<String>, bool)>,
}

impl Crate {
    fn read(folder: &Path) -> Outcome<Self> {
        let mut all = Self::default();
        for path in sh::files(folder)? {
            if path.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path)?;
            let relative = path.strip_prefix(folder)?.with_extension("");
            let mut module: Module = relative
                .iter()
                .map(|part| part.to_string_lossy().into_owned())
                .collect();
            if module.last().is_some_and(|last| last == "tests") {
                continue;
            }
            if module
                .last()
                .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
            {
                module.pop();
            }
            let source = Source::read(&module, &text);
            all.modules.insert(module, source);
        }
        Ok(all)
    }

    /// The module that defines what `path` names; `None` where that cannot be told, as behind a glob of another crate.
    fn owner(&self, path: &[String], depth: usize) -> Option<&Module> {
        let mut at = 0;
        while at < path.len() && self.modules.contains_key(&path[..=at]) {
            at += 1;
        }
        let (module, source) = self.modules.get_key_value(&path[..at])?;
        let Some(name) = path.get(at) else {
            return Some(module);
        };
        // Re-exports are followed a few times: two that name each other would never end.
        if depth < 8 {
            for (known, target) in &source.names {
                if known == name {
                    let rest = path.get(at + 1..).unwrap_or_default();
                    let whole: Vec<String> = target.iter().chain(rest).cloned().collect();
                    return self.owner(&whole, depth + 1);
                }
            }
        }
        Some(module)
    }

    /// The modules that each module imports.
    fn imports(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let mut all = BTreeMap::new();
        for (module, source) in &self.modules {
            let mut found = BTreeSet::new();
            for (path, exported) in &source.paths {
                let Some(owner) = self.owner(path, 0) else {
                    continue;
                };
                let facade = *exported && owner.starts_with(module);
                if owner != module && !facade {
                    found.insert(owner);
                }
            }
            all.insert(module, found);
        }
        all
    }
}

/// Groups of modules that import each other, directly or through others, by name.
fn cycles(all: &Crate) -> Vec<Vec<String>> {
    let imports = all.imports();
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = imports
        .keys()
        .map(|module| (*module, reachable(&imports, module)))
        .collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, reached) in &reach {
        let group: Vec<String> = reached
            .iter()
            .filter(|other| reach.get(**other).is_some_and(|back| back.contains(module)))
            .map(|other| {
                if other.is_empty() {
                    "crate".to_owned()
                } else {
                    other.join("::")
                }
            })
            .collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

/// Every module that `from` imports, through any number of others; `from` itself only if it is in a cycle.
fn reachable<'a>(
    imports: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
    from: &'a Module,
) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in imports.get(module).into_iter().flatten() {
            if found.insert(*next) {
                open.push(next);
            }
        }
    }
    found
}

impl Source {
    fn read(module: &Module, text: &str) -> Self {
        let mut source = Self::default();
        let tokens = tokens(text);
        let children: BTreeSet<&str> = tokens
            .windows(3)
            .filter_map(|three| match three {
                [word, name, end] if word == "mod" && end == ";" => Some(name.as_str()),
                _ => None,
            })
            .collect();
        let mut at = 0;
        let mut exported = false;
        while let Some(token) = tokens.get(at) {
            match token.as_str() {
                "use" => {
                    let mut leaves = Vec::new();
                    at = tree(&tokens, at + 1, &[], &mut leaves);
                    for (path, name) in leaves {
                        if let Some(path) = absolute(module, &path) {
                            source.paths.push((path.clone(), exported));
                            source.names.push((name, path));
                        } else if path
                            .first()
                            .is_some_and(|first| children.contains(first.as_str()))
                        {
                            source
                                .names
                                .push((name, module.iter().cloned().chain(path).collect()));
                        }
                    }
                    exported = false;
                }
                "pub" => {
                    exported = true;
                    at += 1;
                    if tokens.get(at).is_some_and(|next| next == "(") {
                        at = 1 + tokens[at..]
                            .iter()
                            .position(|one| one == ")")
                            .map_or(tokens.len(), |end| at + end);
                    }
                }
                "crate" | "super" | "self" => {
                    let mut path = Vec::new();
                    while let Some(word) = tokens.get(at).filter(|word| is_word(word)) {
                        path.push(word.clone());
                        at += 1;
                        if tokens.get(at).is_some_and(|next| next == "::") {
                            at += 1;
                        } else {
                            break;
                        }
                    }
                    if path.len() > 1
                        && let Some(path) = absolute(module, &path)
                    {
                        source.paths.push((path, false));
                    }
                    exported = false;
                }
                _ => {
                    exported = false;
                    at += 1;
                }
            }
        }
        source
    }
}

/// Reads one tree of a `use` from `at`; returns the place behind it. A leaf is its path and the name that it brings in.
fn tree(
    tokens: &[String],
    mut at: usize,
    before: &[String],
    leaves: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("::") => at += 1,
            Some("{") => {
                at += 1;
                while let Some(token) = tokens.get(at) {
                    match token.as_str() {
                        "}" => return at + 1,
                        "," => at += 1,
                        _ => at = tree(tokens, at, &path, leaves),
                    }
                }
                return at;
            }
            Some("*") => {
                leaves.push((path, "*".to_owned()));
                return at + 1;
            }
            Some(word) if is_word(word) => {
                if word == "self" && !path.is_empty() {
                    // `a::{self, b}` names `a`.
                } else {
                    path.push(word.to_owned());
                }
                at += 1;
                let mut name = path.last().cloned().unwrap_or_default();
                if tokens.get(at).is_some_and(|next| next == "as") {
                    name = tokens.get(at + 1).cloned().unwrap_or_default();
                    at += 2;
                }
                if tokens.get(at).is_none_or(|next| next != "::") {
                    leaves.push((path, name));
                    return at;
                }
            }
            _ => return at + 1,
        }
    }
}

/// A path from the root of the crate; `None` for one into another crate.
fn absolute(module: &Module, path: &[String]) -> Option<Vec<String>> {
    let mut base = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => module.clone(),
        _ => return None,
    };
    for _ in path.iter().filter(|word| *word == "super") {
        base.pop();
    }
    let rest = path
        .iter()
        .skip_while(|word| ["crate", "self", "super"].contains(&word.as_str()));
    base.extend(rest.cloned());
    Some(base)
}

fn is_word(token: &str) -> bool {
    token
        .chars()
        .all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// Words, `::` and single signs of a source, without comments, texts, and the tests at its end.
fn tokens(text: &str) -> Vec<String> {
    let text = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '/' if rest.peek() == Some(&'/') => {
                rest.by_ref().find(|next| *next == '\n');
            }
            '"' => skip_text(&mut rest),
            '\'' => skip_letter(&mut rest),
            ':' if rest.next_if_eq(&':').is_some() => found.push("::".to_owned()),
            _ if letter.is_alphanumeric() || letter == '_' => {
                let mut word = letter.to_string();
                while let Some(next) = rest.next_if(|next| next.is_alphanumeric() || *next == '_') {
                    word.push(next);
                }
                found.push(word);
            }
            _ if letter.is_whitespace() => {}
            _ => found.push(letter.to_string()),
        }
    }
    found
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Passes over the rest of a text whose opening quote has been read.
fn skip_text(rest: &mut Letters<'_>) {
    while let Some(next) = rest.next() {
        match next {
            '\\' => {
                rest.next();
            }
            '"' => return,
            _ => {}
        }
    }
}

/// Passes over a letter in quotes whose first quote has been read; leaves a lifetime as it is.
fn skip_letter(rest: &mut Letters<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('\\') => {
            rest.nth(1);
            rest.by_ref().find(|next| *next == '\'');
        }
        Some(_) if ahead.next() == Some('\'') => {
            rest.nth(1);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(files: &[(&str, &str)]) -> Crate {
        let mut all = Crate::default();
        for (name, text) in files {
            let module: Module = name
                .split("::")
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect();
            let source = Source::read(&module, text);
            all.modules.insert(module, source);
        }
        all
    }

    #[test]
    fn two_modules_that_import_each_other_are_a_cycle() {
        let all = crate_of(&[
            ("", "mod a; mod b; mod c;"),
            ("a", "use crate::b::{self, Two}; pub(crate) struct One;"),
            ("b", "pub(crate) struct Two(super::a::One);"),
            ("c", "use crate::{a::One, b};"),
        ]);
        assert_eq!(cycles(&all), [["a", "b"]]);
    }

    #[test]
    fn a_facade_is_no_import_and_is_looked_through() {
        let all = crate_of(&[
            ("", "mod a; mod b; pub use a::One; pub use crate::b::Two;"),
            ("a", "pub struct One;"),
            ("b", "use crate::One; pub struct Two(One);"),
        ]);
        assert!(cycles(&all).is_empty(), "{:?}", cycles(&all));
    }

    #[test]
    fn a_cycle_through_facades_is_one_of_the_modules_behind_them() {
        let all = crate_of(&[
            (
                "",
                "mod a; mod b; pub use a::One; pub use self::b::{Two as Second};",
            ),
            ("a", "use crate::Second; pub struct One(Second);"),
            ("b", "use crate::One; pub struct Two(One);"),
        ]);
        assert_eq!(cycles(&all), [["a", "b"]]);
    }

    #[test]
    fn comments_strings_and_tests_are_not_read() {
        let all = crate_of(&[
            ("", "mod a; mod b;"),
            (
                "a",
                "// crate::b::X\nconst A: &str = \"crate::b::X\";\n#[cfg(test)]\nmod tests { use crate::b::X; }",
            ),
            ("b", "use crate::a::A;"),
        ]);
        assert!(cycles(&all).is_empty());
    }
}
