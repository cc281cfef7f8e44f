//! The examples of the format's pages byte for byte, every refusal, and round trips.

mod cells;
mod legacy;
mod placement;
