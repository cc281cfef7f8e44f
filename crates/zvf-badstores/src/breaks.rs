//! The table of breaks, `breaks.txt`.

use crate::files::{Files, Outcome};
use crate::steps::step;

/// One way to break one good store.
#[derive(Debug, Clone, Copy)]
pub struct Break {
    /// A description of the change; unique.
    pub name: &'static str,
    /// The bundled store that is changed, such as `0.9/graph`.
    pub case: &'static str,
    /// The name of the check that must report it.
    pub check: &'static str,
    /// The steps of the change, one per line.
    steps: &'static str,
}

impl Break {
    /// Applies the change to a store with these objects.
    ///
    /// # Errors
    ///
    /// The first step that does not apply to the store, and why.
    pub fn apply(&self, files: &mut Files) -> Outcome {
        let steps = self.steps.lines().map(str::trim);
        for line in steps.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            step(files, line).map_err(|error| format!("{line}: {error}"))?;
        }
        Ok(())
    }

    /// A folder name: the words of the name, joined by `-`.
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
    /// The bundled store cannot be read, or a step does not apply to it.
    pub fn files(&self) -> Outcome<Files> {
        let mut files = Files::of(self.case)?;
        self.apply(&mut files)?;
        Ok(files)
    }
}

/// All breaks, by the level of their check.
pub fn breaks() -> impl Iterator<Item = Break> {
    let paragraphs = include_str!("breaks.txt").split("\n\n");
    paragraphs
        .filter(|paragraph| !paragraph.starts_with('#'))
        .map(|paragraph| {
            let (head, steps) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
            let mut columns = head.split(" | ");
            let mut column = || columns.next().unwrap_or_default();
            Break {
                case: column(),
                name: column(),
                check: column(),
                steps,
            }
        })
}
