//! Programs of components and their environment: sockets, signals, pipes, pictures, and the
//! simulation, which has none of these.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tidemill_support::golden;

use crate::common::{Folder, root, status, stderr, stdout, tidemill};

/// The time after which a run counts as hung.
const TIME_MAX: Duration = Duration::from_secs(60);

/// A running program, which is killed when the test ends or panics.
struct Running(Child);

impl Running {
    fn start(file: &Path, arguments: &[&str]) -> Running {
        let mut command = tidemill();
        command.arg("run").arg(file).arg("--").args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(command.spawn().expect("the command starts"))
    }

    /// Its exit status and notes.
    fn end(mut self) -> (Option<i32>, String) {
        let end = Instant::now() + TIME_MAX;
        let status = loop {
            if let Some(status) = self.0.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < end, "it hangs");
            std::thread::sleep(Duration::from_millis(2));
        };
        let mut notes = String::new();
        let mut errors = self.0.stderr.take().expect("piped");
        errors.read_to_string(&mut notes).expect("text");
        (status.code(), notes)
    }

    /// A figure of its memory, in kilobytes.
    fn memory(&self, field: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.0.id())).expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix(field)).expect("the field");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program(text: &str) -> (Folder, std::path::PathBuf) {
    let folder = Folder::new();
    let file = folder.path().join("program.com");
    fs::write(&file, text).expect("written");
    (folder, file)
}

const MIRROR: &str = r#"
COMPONENT Mirror REQUIRES Network;
  VARIABLE own, from, data: TEXT;
  ACTIVITY {EXCLUSIVE}
    Network!Bind("127.0.0.1:0"); Network?Opened(own);
    WRITE(own); WRITELINE;
    REPEAT
      Network!ReceiveFrom; Network?Datagram(from, data);
      Network!SendTo(from, data)
    UNTIL data = "end";
    Network!Close
END Mirror;
"#;

#[test]
fn datagrams_come_and_go_whole() {
    let (_folder, file) = program(MIRROR);
    let mut running = Running::start(&file, &[]);
    let mut lines = BufReader::new(running.0.stdout.take().expect("piped"));
    let mut address = String::new();
    lines.read_line(&mut address).expect("an address");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(TIME_MAX)).expect("a time");
    let mut buffer = [0; 2000];
    // A byte 0 in the middle, no bytes, and as many as fit one network packet.
    for data in [b"a\0b".to_vec(), Vec::new(), vec![b'x'; 1400], b"end".to_vec()] {
        socket.send_to(&data, address.trim()).expect("sent");
        let length = socket.recv(&mut buffer).expect("an echo");
        assert_eq!(buffer[..length], data);
    }
    assert_eq!(running.end(), (Some(0), String::new()));
}

const PATIENT: &str = r#"
COMPONENT Patient REQUIRES SystemTime;
  ACTIVITY {EXCLUSIVE}
    WRITE("waits"); WRITELINE;
    WHILE TRUE DO SystemTime!Wait(1000); SystemTime?Passed END
END Patient;
"#;

#[test]
fn signals_end_a_program_that_waits() {
    for signal in ["-INT", "-TERM"] {
        let (_folder, file) = program(PATIENT);
        let mut running = Running::start(&file, &[]);
        let mut lines = BufReader::new(running.0.stdout.take().expect("piped"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("it writes before it waits");
        assert_eq!(line, "waits\n");
        let id = running.0.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("kill").success());
        assert_eq!(running.end(), (Some(0), String::new()), "{signal}");
    }
}

#[test]
fn signals_end_a_hot_loop() {
    let (_folder, file) = program("COMPONENT Hot; BEGIN WHILE TRUE DO END END Hot;");
    let running = Running::start(&file, &[]);
    // Waits until its handlers are installed: before, a signal would end it by default.
    let caught = |running: &Running| {
        let text = fs::read_to_string(format!("/proc/{}/status", running.0.id()));
        let text = text.expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask");
        u64::from_str_radix(line.trim(), 16).expect("bits") & 1 << 1 != 0
    };
    while !caught(&running) {
        std::thread::sleep(Duration::from_millis(2));
    }
    let id = running.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    assert_eq!(running.end(), (Some(0), String::new()));
}

#[test]
fn a_writer_without_readers_ends() {
    let text =
        r#"COMPONENT Talker; BEGIN WHILE TRUE DO WRITE("and so on"); WRITELINE END END Talker;"#;
    let (_folder, file) = program(text);
    let mut running = Running::start(&file, &[]);
    let mut lines = BufReader::new(running.0.stdout.take().expect("piped"));
    let mut line = String::new();
    lines.read_line(&mut line).expect("it writes");
    assert_eq!(line, "and so on\n");
    drop(lines);
    // The status of any filter whose reader has closed.
    assert_eq!(running.end(), (Some(0), String::new()));
}

const SENDER: &str = r#"
COMPONENT Sender REQUIRES Network, Arguments;
  VARIABLE address, data: TEXT; i: INTEGER;
  ACTIVITY {EXCLUSIVE}
    Arguments!Get(1); Arguments?Argument(address);
    Network!Connect(address); Network?Opened(address);
    NEW(data, 1000000);
    FOR i := 1 TO 300 DO Network!Send(data) END;
    Network!Close
END Sender;
"#;

#[test]
fn who_sends_faster_than_the_network_takes_waits() {
    let (_folder, file) = program(SENDER);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let running = Running::start(&file, &[&address]);
    let (mut stream, _) = listener.accept().expect("a connection");
    // Long enough to write everything, if the system accepted it.
    std::thread::sleep(Duration::from_millis(500));
    let most = running.memory("VmHWM:");
    assert!(most < 150_000, "{most} kB hold 300 MB that nobody has taken");
    let mut buffer = vec![0; 1 << 20];
    let mut sum = 0;
    loop {
        match stream.read(&mut buffer).expect("bytes") {
            0 => break,
            length => sum += length,
        }
    }
    assert_eq!(sum, 300_000_000);
    assert_eq!(running.end(), (Some(0), String::new()));
}

const WRITER: &str = r#"
COMPONENT Writer REQUIRES FileSystem;
  VARIABLE text: TEXT; i, length: INTEGER; last: CHARACTER;
  ACTIVITY {EXCLUSIVE}
    NEW(text, 3000000);
    FOR i := 0 TO 2999999 DO text[i] := "x" END;
    FileSystem!New("large"); FileSystem?Done;
    FileSystem!WriteText(text); FileSystem!Write("y"); FileSystem!WriteText(text);
    FileSystem!GetLength; FileSystem?Length(length);
    FileSystem!SetPosition(3000000); FileSystem!ReadByte; FileSystem?Byte(last);
    WRITE(length); WRITE(" "); WRITE(last); WRITELINE;
    FileSystem!WriteText(text);
    FileSystem!Close
END Writer;
"#;

#[test]
fn large_texts_are_written_whole_and_in_order() {
    let (folder, file) = program(WRITER);
    let output = tidemill().arg("run").arg("--root").arg(folder.path()).arg(&file).output();
    let output = output.expect("the command starts");
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("6000001 y\n", ""));
    // The end waits for the rest of the output.
    let written = fs::read(folder.path().join("large")).expect("the file");
    assert_eq!(written.len(), 6_000_001);
    assert!(
        written
            .iter()
            .enumerate()
            .all(|(at, &byte)| byte == if at == 3_000_000 { b'y' } else { b'x' })
    );
}

const PAINTER: &str = r#"
COMPONENT Painter REQUIRES GraphicView;
  VARIABLE x: INTEGER;
  ACTIVITY {EXCLUSIVE}
    GraphicView!Clear;
    GraphicView!Fill(10, 20, 30, 40, 0FF0000H);
    GraphicView!SetLayer(2);
    GraphicView!Fill(20, 30, 100, 10, 00000FFH);
    GraphicView!SetLayer(1);
    GraphicView!Fill(0, 32, 1024, 4, 000FF00H);
    FOR x := 0 TO 99 DO GraphicView!Pixel(x, 2 * x, 0ABCDEFH) END;
    GraphicView!Font(500, 300, "A", 0123456H);
    GraphicView!DrawLayers
END Painter;
"#;

/// The picture as lines of runs: the number of pixels of each colour; equal lines once.
fn runs(path: &Path) -> String {
    let file = BufReader::new(fs::File::open(path).expect("a picture"));
    let mut reader = png::Decoder::new(file).read_info().expect("a picture");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let frame = reader.next_frame(&mut pixels).expect("a frame");
    let mut text = format!("{} x {}\n", frame.width, frame.height);
    let (mut last, mut count) = (String::new(), 0);
    for line in pixels.chunks(3 * frame.width as usize) {
        let colours: Vec<&[u8]> = line.chunks(3).collect();
        let mut runs = String::new();
        for run in colours.chunk_by(|a, b| a == b) {
            let [red, green, blue] = run[0] else { panic!("three bytes") };
            runs += &format!(" {}*{red:02X}{green:02X}{blue:02X}", run.len());
        }
        if runs != last && count > 0 {
            text += &format!("{count}:{last}\n");
            count = 0;
        }
        (last, count) = (runs, count + 1);
    }
    text + &format!("{count}:{last}\n")
}

#[test]
fn pictures_are_what_was_drawn() {
    let (folder, file) = program(PAINTER);
    let picture = folder.path().join("picture.png");
    let output = tidemill().arg("run").arg(&file).arg("--png").arg(&picture).output();
    let output = output.expect("the command starts");
    assert_eq!((status(&output), stderr(&output).as_str()), (0, ""));
    let (found, kept) = (runs(&picture), root().join("tests/cl/picture.txt"));
    golden::check(&kept, found);
}

const SLOW: &str = r#"
COMPONENT Slow REQUIRES SystemTime;
  VARIABLE before, after, i: INTEGER;
  ACTIVITY {EXCLUSIVE}
    SystemTime!GetSystemTime; SystemTime?SystemTime(before);
    FOR i := 1 TO 3 DO
      SystemTime!Wait(3600000); SystemTime?Passed;
      SystemTime!GetSystemTime; SystemTime?SystemTime(after);
      WRITE(after - before); WRITE(" "); WRITE(RANDOM(1, 1000000)); WRITELINE
    END
END Slow;
"#;

#[test]
fn simulated_hours_pass_at_once_and_repeat() {
    let (_folder, file) = program(SLOW);
    let run = |options: &[&str]| {
        let output = tidemill().arg("sim").arg(&file).args(options).output();
        output.expect("the command starts")
    };
    let (first, again, other) = (run(&[]), run(&["--seed", "1"]), run(&["--seed", "2"]));
    assert_eq!(status(&first), 0, "{}", stderr(&first));
    let text = stdout(&first);
    let (lines, summary) = text.split_at(text.find("summary: ").expect("a summary"));
    assert!(summary.starts_with("summary: 1 nodes (1 alive), 10800"), "{text}");
    let hours: Vec<String> =
        lines.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect();
    assert_eq!(hours, ["3600000", "7200000", "10800000"]);
    assert_eq!(stdout(&first), stdout(&again));
    assert_ne!(stdout(&first).lines().next(), stdout(&other).lines().next());
    // Time is up before the third.
    let short = run(&["--for", "8000"]);
    assert_eq!(stdout(&short).lines().count(), 2 + 1, "{}", stdout(&short));
    let several = run(&["--nodes", "3"]);
    assert_eq!(status(&several), 0, "{}", stderr(&several));
    assert_eq!(stdout(&several).matches("n2:1: ").count(), 3, "{}", stdout(&several));
}
