//! The table of breaks.

mod cells;
mod levels;
mod meaning;
mod metadata;
mod structure;

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
            Change::Run(run) => run(files),
        }
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
pub fn breaks() -> impl Iterator<Item = &'static Break> {
    [
        structure::STRUCTURE,
        metadata::METADATA,
        cells::CELLS,
        meaning::MEANING,
        levels::LEVELS,
    ]
    .into_iter()
    .flatten()
}
