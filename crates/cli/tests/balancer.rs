//! The balancer of the examples: between captures, and between clients and servers that die.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::common::device::{sh, within};
use crate::common::example::{Captures, Host, joined, notes};
use crate::common::{Folder, skipped};

/// The address of the service.
const SERVICE: &str = "192.0.2.1:80";

/// Both engines choose the same servers and translate the same packets; `test.out` shows them.
#[test]
fn captures_are_balanced() {
    let at = Folder::new();
    notes("run", "balancer", &at, &["sample.flow"], &[]);
    let captures = Captures {
        example: "balancer",
        files: &["captures.flow", "servers.olg"],
        options: &[],
        written: &["to-clients", "to-servers"],
        counters: "app balancer",
    };
    captures.compare(&at);
}

/// A server that answers connections with its number and then with what it is sent.
struct Server {
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(namespace: &str, number: u8) -> Server {
        let address = SocketAddr::from(([10, 2, 0, number], 80));
        let listener =
            within(namespace, || TcpListener::bind(address)).expect("it has the address");
        listener.set_nonblocking(true).expect("a socket can");
        let stopping = Arc::new(AtomicBool::new(false));
        let stops = stopping.clone();
        let serve = move || {
            while !stops.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => drop(thread::spawn(move || answer(stream, number))),
                    Err(_) => thread::sleep(Duration::from_millis(1)),
                }
            }
        };
        Server { stopping, thread: Some(thread::spawn(serve)) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn answer(mut stream: TcpStream, number: u8) {
    // A client that goes away ends this.
    let _ = stream.write_all(&[number]).and_then(|()| {
        let mut byte = [0];
        while stream.read(&mut byte)? == 1 {
            stream.write_all(&byte)?;
        }
        Ok(())
    });
}

/// Connects to the service; returns the connection and the number of its server.
fn ask(client: &str) -> io::Result<(TcpStream, u8)> {
    let address: SocketAddr = SERVICE.parse().expect("an address");
    let wait = Duration::from_millis(1500);
    let mut stream = within(client, || TcpStream::connect_timeout(&address, wait))?;
    stream.set_read_timeout(Some(wait))?;
    let mut number = [0];
    stream.read_exact(&mut number)?;
    Ok((stream, number[0]))
}

/// The answers of `count` connections, by server; 0 stands for none.
fn answers(client: &str, count: usize) -> BTreeMap<u8, usize> {
    let mut answers = BTreeMap::new();
    for _ in 0..count {
        let number = ask(client).map_or(0, |(_, number)| number);
        *answers.entry(number).or_default() += 1;
    }
    answers
}

/// Asks until 30 connections in a row are answered by these servers.
fn settles_on(client: &str, servers: &[u8]) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answers = answers(client, 30);
        if answers.keys().eq(servers) {
            return;
        }
        assert!(Instant::now() < end, "{servers:?}: {answers:?}");
    }
}

#[test]
fn servers_that_do_not_answer_get_no_connections() {
    let names = ["c", "s"].map(|end| format!("tmb{}{end}", std::process::id() % 100_000));
    let [client, host] = &names;
    let hosts = [
        Host { key: "CLIENTS", device: client, address: "10.1.0.2/24" },
        Host { key: "SERVERS", device: host, address: "10.2.0.11/24" },
    ];
    let (running, _namespaces) = match joined("balancer", "localhost:0", &hosts) {
        Ok(joined) => joined,
        Err(why) => return skipped("network namespaces", &why),
    };
    sh(&format!("ip -n {client} route add default via 10.1.0.1"));
    sh(&format!("ip -n {host} route add default via 10.2.0.1"));
    let add = |number| sh(&format!("ip -n {host} address add 10.2.0.{number}/24 dev {host}"));
    (12..=13).for_each(|number| drop(add(number)));
    let mut servers: Vec<Server> = (11..=13).map(|number| Server::start(host, number)).collect();
    settles_on(client, &[11, 12, 13]);

    // A connection to a server that stays is not disturbed by what happens to others.
    let (mut kept, _) = (0..200)
        .find_map(|_| ask(client).ok().filter(|(_, number)| *number == 13))
        .expect("a third of the connections");
    let mut echo = |byte: u8| {
        kept.write_all(&[byte]).expect("it is open");
        let mut back = [0];
        kept.read_exact(&mut back).expect("its server answers");
        assert_eq!(back, [byte]);
    };
    echo(1);
    // Its address is gone: nothing answers.
    sh(&format!("ip -n {host} address del 10.2.0.12/24 dev {host}"));
    settles_on(client, &[11, 13]);
    echo(2);
    // Its port is closed: connections are refused.
    servers.remove(0);
    settles_on(client, &[13]);
    echo(3);
    // After a rest they are tried again.
    add(12);
    servers.push(Server::start(host, 11));
    settles_on(client, &[11, 12, 13]);
    echo(4);

    let err = running.end();
    assert!(!err.contains("border balancer::servers: deleted 0"), "{err}");
    assert!(!err.contains("flow::refused"), "{err}");
}
