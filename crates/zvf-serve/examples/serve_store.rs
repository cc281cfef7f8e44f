//! Serves a store on a free port of this machine until one request was answered, and prints the answer: the list of stores.
//! A program would run the server until it is interrupted.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::io::{Read, Write};
use std::net::TcpStream;

use zvf_serve::{ServeOptions, Server};
use zvf_store::blocking::Runtime;
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};

fn ask(host: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET /stores HTTP/1.1\r\nHost: {host}\r\n")?;
    write!(stream, "Connection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let address = folder.path().join("cells.zarrvectors");
    let address = address.to_string_lossy().into_owned();
    Runtime::new()?.wait(async {
        let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]);
        let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
        writer.push(&Batch::new(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0][..]))?;
        writer.finish().await?;

        let server = Server::bind(std::slice::from_ref(&address), ServeOptions::new()).await?;
        let url = server.url();
        let host = url.trim_start_matches("http://").trim_end_matches('/');
        let (done, answered) = tokio::sync::oneshot::channel();
        let host = host.to_owned();
        std::thread::spawn(move || done.send(ask(&host)));
        let mut answer = None;
        server.run(async { answer = answered.await.ok() }).await;
        println!("{}", answer.ok_or("no answer")??);
        Ok(())
    })
}
