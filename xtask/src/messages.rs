//! `cargo xtask messages`: the messages of the product crates, one a line, for review.
//!
//! A message is a call that makes an error, or any other call with a text of two words or more: a warning, a note, an invariant, a
//! line of output. A call makes an error if it names a type `…Error`, or a function or closure that returns one; so there is no
//! list of them. Attributes, help texts among them, and tests are left out, but not `#[error("…")]`.

use std::collections::BTreeSet;
use std::iter::Peekable;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree, token_stream};

use crate::{Outcome, sh};

/// Prints `file:line  constructor  "part" | "part" | …` for each message, of all crates or of those that are named.
pub(crate) fn run(wanted: &[String]) -> Outcome {
    let root = sh::root();
    let mut sources = Vec::new();
    let mut makers = BTreeSet::new();
    for path in sh::files(&root)? {
        let name = path
            .strip_prefix(&root)?
            .to_string_lossy()
            .replace('\\', "/");
        let (folder, file) = name.split_once("/src/").unwrap_or_default();
        let product = folder == "python" || folder.starts_with("crates/");
        if product && !file.contains("tests") && name.ends_with(".rs") {
            let manifest = std::fs::read_to_string(root.join(folder).join("Cargo.toml"))?;
            if folder == "python" || !manifest.contains("\npublish = false") {
                let text = std::fs::read_to_string(&path)?;
                let tokens = text.parse().map_err(|error| format!("{name}: {error}"))?;
                makers.append(&mut functions(&tokens));
                sources.push((name, tokens));
            }
        }
    }
    if !wanted.is_empty() {
        sources.retain(|(name, _)| name.split('/').any(|part| sh::flag(wanted, part)));
    }
    let mut count = 0;
    for (name, tokens) in sources {
        for message in messages(tokens, &makers) {
            println!("{name}:{message}");
            count += 1;
        }
    }
    println!("{count} messages");
    Ok(())
}

/// The names of functions that return an error.
fn functions(tokens: &TokenStream) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for item in tokens.to_string().split("fn ").skip(1) {
        let signature = item.split(['{', ';']).next().unwrap_or_default();
        let returned = signature.rsplit("->").next().unwrap_or_default().trim();
        if returned.ends_with("Error") && !returned.contains(['<', ')']) {
            found.extend(signature.split([' ', '(', '<']).next().map(str::to_owned));
        }
    }
    found
}

/// Whether a signature ends here.
fn is_body(token: &TokenTree) -> bool {
    let text = token.to_string();
    text == ";" || text.starts_with('{')
}

/// The messages of one source, in the order of their lines.
fn messages(tokens: TokenStream, makers: &BTreeSet<String>) -> Vec<String> {
    let (makers, found) = (makers.clone(), Vec::new());
    let mut reader = Reader { makers, found };
    reader.item(tokens, "const");
    reader.found.sort_by_key(|(line, _)| *line);
    let with_line = |(line, text)| format!("{line}  {text}");
    reader.found.into_iter().map(with_line).collect()
}

/// A text and its line.
type Text = (usize, String);

struct Reader {
    /// Functions, and closures of this source, that return an error.
    makers: BTreeSet<String>,
    found: Vec<Text>,
}

impl Reader {
    /// Reads an item or a body; its texts outside of calls are messages of their own.
    fn item(&mut self, tokens: TokenStream, name: &str) {
        let texts = self.walk(tokens, false);
        let prose = texts.into_iter().filter(|(_, text)| is_prose(text));
        prose.for_each(|text| self.add(name, &[text]));
    }

    fn add(&mut self, constructor: &str, texts: &[Text]) {
        let all: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        if let Some((line, _)) = texts.first() {
            let all = all.join("\" | \"").replace('\n', "\\n");
            let whole = format!("{constructor}  \"{all}\"");
            self.found.push((*line, whole));
        }
    }

    /// The texts of `tokens` that belong to the call around them. In a call that makes an `error`, only calls that make another one have their own.
    fn walk(&mut self, tokens: TokenStream, error: bool) -> Vec<Text> {
        let mut texts = Vec::new();
        let mut before = String::new();
        let mut rest = tokens.into_iter().peekable();
        while let Some(token) = rest.next() {
            match &token {
                TokenTree::Punct(sign) if sign.as_char() == '#' => self.attribute(&mut rest),
                TokenTree::Ident(word) if word == "fn" => {
                    let name = rest.next().map(|name| format!("fn {name}"));
                    if let Some(TokenTree::Group(body)) = rest.find(is_body) {
                        self.item(body.stream(), &name.unwrap_or_default());
                    }
                }
                TokenTree::Ident(word) if word == "let" => self.closure(rest.clone()),
                TokenTree::Group(group) => texts.extend(self.call(group, &before, error)),
                TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    texts.extend(text(&literal.to_string()).map(|text| (line, text)));
                }
                TokenTree::Punct(_) | TokenTree::Ident(_) => {}
            }
            before = path(before, &token);
        }
        texts
    }

    /// Reads what a group holds: the arguments of a call or of a macro, the members of a value, or a block. Returns what belongs to the call around it.
    fn call(&mut self, group: &Group, name: &str, error: bool) -> Vec<Text> {
        let last = name.rsplit([':', '.']).next().unwrap_or_default();
        let named = match group.delimiter() {
            Delimiter::Parenthesis => !last.is_empty(),
            Delimiter::Brace => last.starts_with(char::is_uppercase),
            _ => name.ends_with('!'),
        };
        let typed = name.split("::").any(|part| part.ends_with("Error"));
        let makes = named && (typed || self.makers.contains(last));
        let own = self.walk(group.stream(), error || makes);
        // These pass a text through.
        let wraps = ["Err", "Ok", "Some", "format!", "format_args!"].contains(&name);
        let is_message = named && !error && !wraps && own.iter().any(|(_, one)| is_prose(one));
        if makes || is_message {
            self.add(name, &own);
            return Vec::new();
        }
        own
    }

    /// Reads an attribute: the text of an error. With `cfg(test)` its item is passed over.
    fn attribute(&mut self, rest: &mut Peekable<token_stream::IntoIter>) {
        rest.next_if(|next| next.to_string() == "!");
        if let Some(TokenTree::Group(group)) = rest.next() {
            let whole = group.stream().to_string().replace(' ', "");
            if whole.starts_with("error(\"") {
                let texts = self.walk(group.stream().into_iter().skip(1).collect(), true);
                self.add("#[error]", &texts);
            } else if whole.starts_with("cfg(test") || whole.starts_with("cfg(all(test") {
                rest.find(is_body);
            }
        }
    }

    /// Keeps the name of a closure that returns an error: `let bad = |…| SomeError::…`.
    fn closure(&mut self, mut rest: Peekable<token_stream::IntoIter>) {
        let name = rest.next().map(|name| name.to_string());
        let mut value = rest.map(|one| one.to_string()).skip(1);
        let is_closure = ["|", "move"].contains(&value.next().unwrap_or_default().as_str());
        let mut value = value.take_while(|one| one != ";");
        if is_closure && value.any(|word| word.ends_with("Error")) {
            self.makers.extend(name);
        }
    }
}

/// The path or method in front of the next token: `before` with this token, or what begins with it.
fn path(before: String, token: &TokenTree) -> String {
    let text = token.to_string();
    match token {
        TokenTree::Ident(_) if before.ends_with("::") || before == "." => before + &text,
        TokenTree::Ident(_) => text,
        TokenTree::Punct(_) if text == "." => text,
        TokenTree::Punct(_) if text == "!" && !before.is_empty() => before + "!",
        TokenTree::Punct(sign) if text == ":" && sign.spacing() == Spacing::Joint => before + ":",
        TokenTree::Punct(_) if text == ":" && before.ends_with(':') => before + ":",
        _ => String::new(),
    }
}

/// Whether two words follow each other in a text.
fn is_prose(text: &str) -> bool {
    let words = text.split(' ');
    let words: Vec<_> = words.map(|one| one.contains(char::is_alphabetic)).collect();
    words.windows(2).any(|two| two == [true, true])
}

/// The text of a string literal; `None` for other literals. Continued lines are joined, other escapes are kept.
fn text(literal: &str) -> Option<String> {
    let start = literal.starts_with(['"', 'r']).then_some(literal)?;
    let inner = start.split_once('"')?.1.rsplit_once('"')?.0;
    let mut lines = inner.split("\\\n");
    let first = lines.next()?.to_owned();
    Some(lines.fold(first, |all, line| all + line.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_listed_with_all_their_parts_and_other_texts_if_they_are_prose() {
        let source = r##"
            const WHY: &str = r#"two "words" here"#;
            fn read(key: &str) -> Result<(), StoreError> {
                // WriteError::input("not", "this")
                let bad = |found: &str| WriteError::data(place(1, "rows"), format!("{found}, \
                    expected none"));
                let cell = find("keys").ok_or_else(|| lost("cell"))?;
                notes.push(format!("{count} rows left out"));
                let kind = if last { "the last" } else { "other" };
                Err(bad("one"))
            }
            fn lost(what: &str) -> StoreError { StoreError::Missing { what: what.into() } }
            enum StoreError {
                #[error("{what}: \"missing\"")]
                Missing { what: String },
            }
            #[cfg(test)]
            mod tests { fn two() { notes.push("not in the list"); } }
        "##;
        let tokens: TokenStream = source.parse().unwrap();
        let makers = functions(&tokens);
        assert_eq!(
            messages(tokens, &makers),
            [
                r#"2  const  "two "words" here""#,
                r#"5  WriteError::data  "rows" | "{found}, expected none""#,
                r#"7  lost  "cell""#,
                r#"8  .push  "{count} rows left out""#,
                r#"9  fn read  "the last""#,
                r#"10  bad  "one""#,
                r#"14  #[error]  "{what}: \"missing\"""#,
            ]
        );
    }
}
