//! A server on a free port, asked over plain sockets.

mod client;
mod hostile;
mod pages;
mod store;
mod views;
