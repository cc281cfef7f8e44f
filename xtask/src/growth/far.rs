//! A line to a server that is far away: each request waits, and each connection has a bandwidth.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use crate::Outcome;

/// What lies between a program and its server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Distance {
    /// How long each request waits.
    pub(super) latency: Duration,
    /// Bytes a second of each connection.
    pub(super) bandwidth: f64,
}

/// Starts a proxy before a server at `HOST:PORT`; it ends with the process. Returns its own `HOST:PORT`.
///
/// A request is what arrives in one piece: readers write each request at once, and wait for its answer before they use the connection again.
pub(super) fn start(server: &str, distance: Distance) -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let server = server.to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = server.clone();
            // A connection that fails is closed, and its client reports that.
            std::thread::spawn(move || {
                if let Ok(upstream) = TcpStream::connect(&server) {
                    let _ = connect(&client, &upstream, distance);
                }
            });
        }
    });
    Ok(address)
}

fn connect(client: &TcpStream, server: &TcpStream, distance: Distance) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (requests, answers) = (client.try_clone()?, client.try_clone()?);
    let (there, back) = (server.try_clone()?, server.try_clone()?);
    let upload = std::thread::spawn(move || {
        pass(requests, there, |_| distance.latency);
    });
    pass(back, answers, |bytes| {
        Duration::from_secs_f64(bytes as f64 / distance.bandwidth)
    });
    // The thread ends when either side closes.
    let _ = upload.join();
    Ok(())
}

/// Passes bytes on, each piece after a pause.
fn pass(mut from: TcpStream, mut to: TcpStream, pause: impl Fn(usize) -> Duration) {
    let mut piece = vec![0; 1 << 16];
    while let Ok(length) = from.read(&mut piece) {
        if length == 0 {
            break;
        }
        std::thread::sleep(pause(length));
        if to.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn answers_come_late_and_whole() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap().to_string();
        let answer = vec![7; 100_000];
        let sent = answer.clone();
        std::thread::spawn(move || {
            let (mut client, _) = server.accept().unwrap();
            let mut request = [0; 4];
            client.read_exact(&mut request).unwrap();
            client.write_all(&sent).unwrap();
        });
        let distance = Distance {
            latency: Duration::from_millis(20),
            bandwidth: 10e6,
        };
        let mut client = TcpStream::connect(start(&address, distance).unwrap()).unwrap();
        let begin = Instant::now();
        client.write_all(b"read").unwrap();
        let mut found = Vec::new();
        client.read_to_end(&mut found).unwrap();
        assert_eq!(found, answer);
        // 20 ms, and 10 ms for 100,000 bytes: a pause is never shorter than what is asked for.
        assert!(begin.elapsed() >= Duration::from_millis(30));
    }
}
