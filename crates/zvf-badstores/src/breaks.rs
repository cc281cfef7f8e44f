//! The table of breaks, `breaks.txt`.

use crate::files::{Files, Outcome};
use crate::steps::step;

/// One way to break one good store.
#[derive(Debug, Clone, Copy)]
pub struct Break {
    /// What is done, in words. Each has its own.
    pub name: &'static str,
    /// The bundled store that it is done to, such as `0.9/graph`.
    pub case: &'static str,
    /// The name of the check that has to find it.
    pub check: &'static str,
    /// What is done, a step a line.
    steps: &'static str,
}

impl Break {
    /// Does it to the store of these objects.
    ///
    /// # Errors
    ///
    /// Where the store has nothing to do it to.
    pub fn apply(&self, files: &mut Files) -> Outcome {
        let steps = self.steps.lines().map(str::trim);
        for line in steps.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            step(files, line).map_err(|error| format!("{line}: {error}"))?;
        }
        Ok(())
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
