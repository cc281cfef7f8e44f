//! What the program of `cargo xtask soak` shares with the trials: numbers drawn by a seed, servers of other people, and a proxy before them
//! that fails now and then.

pub mod draw;
pub mod proxy;
pub mod servers;
