//! The table of breaks.

mod arrays;
mod cells;
mod level_documents;
mod levels;
mod made;
mod meaning;
mod metadata;
mod objects;
mod structure;
mod viewer;

use crate::files::{Files, Outcome};

/// One way to break one good store.
#[derive(Debug, Clone, Copy)]
pub struct Break {
    /// What is done, in words. Each has its own.
    pub name: &'static str,
    /// The bundled store that it is done to, such as `0.9/graph`.
    pub case: &'static str,
    /// The name of the check that has to find it.
    pub check: &'static str,
    change: Change,
}

/// What is done to a store.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// A member of a document, at a JSON pointer, gets this JSON value. `@` stands for the block of the format in a root's
    /// or level's document, and for the attributes of another.
    Set(&'static str, &'static str, &'static str),
    /// A member of a document goes away.
    Unset(&'static str, &'static str),
    /// All objects go away whose keys begin so.
    Gone(&'static str),
    /// All objects whose keys begin so are there again under other keys, which begin like this.
    Copy(&'static str, &'static str),
    /// Whatever the function does.
    Run(fn(&mut Files) -> Outcome),
}

/// A line of the table.
const fn of(case: &'static str, name: &'static str, check: &'static str, change: Change) -> Break {
    Break {
        name,
        case,
        check,
        change,
    }
}

impl Break {
    /// Does it to the store of these objects.
    ///
    /// # Errors
    ///
    /// Where the store has nothing to do it to.
    pub fn apply(&self, files: &mut Files) -> Outcome {
        match self.change {
            Change::Set(key, pointer, json) => {
                files.set(key, &full(key, pointer), serde_json::from_str(json)?)
            }
            Change::Unset(key, pointer) => files.unset(key, &full(key, pointer)),
            Change::Gone(prefix) => files.gone(prefix),
            Change::Copy(from, to) => files.copy(from, to),
            Change::Run(run) => run(files),
        }
    }

    /// A name for a folder: the name with `-` between its words.
    #[must_use]
    pub fn folder(&self) -> String {
        let words = self.name.split(|letter: char| !letter.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.join("-")
    }

    /// The objects of the broken store.
    ///
    /// # Errors
    ///
    /// Where the bundled store cannot be read, or has nothing to do it to.
    pub fn files(&self) -> Outcome<Files> {
        let mut files = Files::of(self.case)?;
        self.apply(&mut files)?;
        Ok(files)
    }
}

/// The whole pointer of a shortened one.
fn full(key: &str, pointer: &str) -> String {
    let Some(rest) = pointer.strip_prefix('@') else {
        return pointer.to_owned();
    };
    let block = match key.split('/').count() {
        1 => "/zarr_vectors",
        2 => "/zarr_vectors_level",
        _ => "",
    };
    format!("/attributes{block}{rest}")
}

/// All breaks, by the level of their check.
pub fn breaks() -> impl Iterator<Item = &'static Break> {
    [
        structure::STRUCTURE,
        metadata::METADATA,
        level_documents::LEVEL_DOCUMENTS,
        arrays::ARRAYS,
        cells::CELLS,
        objects::OBJECTS,
        meaning::MEANING,
        levels::LEVELS,
        viewer::VIEWER,
    ]
    .into_iter()
    .flatten()
}
