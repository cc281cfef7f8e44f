//! Views of the bundled stores as files.

mod export;
