//! A store that runs until it is stopped: `cargo run -p tidemill-pore --example store FOLDER`.
//!
//! It serves pages at `FOLDER/pages` and the protocol over streams at `FOLDER/streams`.

use std::path::PathBuf;

use tidemill_pore::xenstore::server::{Server, Settings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("a folder is missing")?);
    let _server = Server::start(Settings {
        pages: folder.join("pages"),
        streams: Some(folder.join("streams")),
        first_index: 0,
        domain: 0,
    })?;
    println!("the store is there until a line comes, or the end of the input");
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}
