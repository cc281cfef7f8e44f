//! The examples of the format's pages byte for byte, every error, and round trips.

mod cells;
mod legacy;
mod placement;
