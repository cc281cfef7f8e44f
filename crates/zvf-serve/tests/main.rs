//! A server on a free port, with requests over plain sockets.

mod client;
mod hostile;
mod pages;
mod slow;
mod store;
mod views;
