//! Programs of others as judges: tcpdump reads the captures we write and writes captures we read;
//! tcprewrite changes frames as our apps do. Where they are not installed the tests are skipped.

use std::process::Command;

use crate::common::{Folder, frames, read, run_to_end, write};
use tidemill_apps::capture::Format;

/// Runs a program; returns why it is not available, if it is not. An available one must succeed.
fn ran(program: &str, arguments: &[&str]) -> Result<(), String> {
    match Command::new(program).args(arguments).output() {
        Err(error) => Err(format!("{program}: {error}")),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{program} {arguments:?}: {said}");
            Ok(())
        }
    }
}

#[test]
fn tcpdump_reads_what_we_write_and_we_read_what_it_writes() {
    let folder = Folder::new();
    let frames = frames(200);
    for (format, name) in [(Format::Pcap, "a.pcap"), (Format::Pcapng, "a.pcapng")] {
        let (ours, theirs) = (folder.path(name), folder.path("theirs.pcap"));
        write(&ours, format, &frames);
        // As root it would change to a user who may not write here.
        let as_we_are = ["-Z", "root"];
        let arguments = [&["-r", &ours, "-w", &theirs], &as_we_are[..]].concat();
        if let Err(why) = ran("tcpdump", &arguments) {
            return println!("skipped: {why}");
        }
        assert_eq!(read(&theirs), frames, "{name}");
        // And once through the apps.
        let again = folder.path("again.pcap");
        run_to_end(&format!(
            "in :: PcapReader {{ file: \"{theirs}\" }} -> out :: PcapWriter {{ file: \"{again}\" }}"
        ));
        assert_eq!(read(&again), frames, "{name}");
    }
}

/// What tcprewrite makes of frames is what the app makes of them.
fn compare(app: &str, options: &[&str], frames: &[Vec<u8>]) {
    let folder = Folder::new();
    let (before, ours, theirs) =
        (folder.path("in.pcap"), folder.path("ours"), folder.path("theirs"));
    write(&before, Format::Pcap, frames);
    let files = ["-i", &before, "-o", &theirs];
    if let Err(why) = ran("tcprewrite", &[options, &files[..]].concat()) {
        return println!("skipped: {why}");
    }
    run_to_end(&format!(
        "in :: PcapReader {{ file: \"{before}\" }} -> app :: {app}
         app -> out :: PcapWriter {{ file: \"{ours}\" }}"
    ));
    let (ours, theirs) = (read(ours), read(theirs));
    assert_eq!(ours.len(), frames.len());
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "{app}, frame {at}");
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn tcprewrite_tags_frames_as_we_do() {
    let options =
        ["--enet-vlan=add", "--enet-vlan-tag=42", "--enet-vlan-cfi=0", "--enet-vlan-pri=0"];
    // It does not tag what is tagged.
    let plain: Vec<Vec<u8>> = frames(300).into_iter().step_by(3).collect();
    compare("VlanTag { tag: 42 }", &options, &plain);
}

#[test]
fn tcprewrite_takes_tags_off_as_we_do() {
    // It takes any tag off; ours one, and frames without it go nowhere.
    let tagged: Vec<Vec<u8>> = frames(300).into_iter().skip(1).step_by(3).collect();
    compare("VlanUntag { tag: 42 }", &["--enet-vlan=del"], &tagged);
}
