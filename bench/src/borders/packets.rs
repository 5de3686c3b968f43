//! Programs with a graph: a component sends packets into it, and waits for the result of the last
//! of each batch.

use super::components::sized;
pub use super::components::total;
use super::load::{SCHEMA, Size, sums};

/// A frame of UDP from port PAYLOAD to port `place`, whose payload is a message with PAYLOAD.
const FRAME: &str = "
  PROCEDURE Put16(at, value: INTEGER);
  BEGIN
    frame[at] := CHARACTER(value DIV 256); frame[at + 1] := CHARACTER(value MOD 256)
  END Put16;

  PROCEDURE Make;
  BEGIN
    NEW(frame, 58);
    Put16(12, 0800H); Put16(14, 4500H); Put16(16, 44); Put16(22, 4011H);
    Put16(26, 0A00H); Put16(28, 1); Put16(30, 0A00H); Put16(32, 2);
    Put16(38, 24);
    frame[42] := 0DX; frame[47] := 15X;
    Put16(52, 1A04H); Put16(54, 726FH); Put16(56, 6F6DH)
  END Make;

  PROCEDURE Fill(place, value: INTEGER);
  BEGIN
    Put16(34, value); Put16(36, place);
    frame[43] := CHARACTER(value MOD 256); frame[44] := CHARACTER(value DIV 256);
    frame[48] := CHARACTER(value MOD 256)
  END Fill;
";

/// Sends, and receives the result of the last of a batch.
const SENDER: &str = "
INTERFACE Rules;
  { ( IN start | IN finish ) OUT Taken
  | IN Next
    ( OUT last(change: CHARACTER; value: INTEGER)
    | OUT final(change: CHARACTER; total: INTEGER)
    | OUT End ) }
END Rules;

COMPONENT Main REQUIRES Packets, Rules;
  VARIABLE round, place, value, total: INTEGER; frame: TEXT; change: CHARACTER; isSent: BOOLEAN;
FRAME
BEGIN
  Make;
  Rules!start; Rules?Taken;
  Packets!Open(\"src\"); Packets?Opened;
  FOR round := 0 TO ROUNDS - 1 DO
    FOR place := 1 TO BATCH DO
      Fill(place, PAYLOAD);
      Packets!Send(frame); Packets?Sent(isSent)
    END;
    Rules!Next; Rules?last(change, value)
  END;
  Rules!finish; Rules?Taken;
  Rules!Next; Rules?final(change, total);
  WRITE(total); WRITELINE
END Main;
";

/// Sends, and receives the returned packets.
const RECEIVER: &str = "
COMPONENT Main REQUIRES Packets;
  VARIABLE round, place, value, total: INTEGER; frame, back: TEXT; isSent: BOOLEAN;
FRAME
BEGIN
  Make;
  Packets!Open(\"src\"); Packets?Opened;
  FOR round := 0 TO ROUNDS - 1 DO
    FOR place := 1 TO BATCH DO
      Fill(place, PAYLOAD);
      Packets!Send(frame); Packets?Sent(isSent)
    END;
    FOR place := 1 TO BATCH DO
      Packets!Receive; Packets?Packet(back);
      INC(total, INTEGER(back[34]) * 256 + INTEGER(back[35]))
    END
  END;
  WRITE(total); WRITELINE
END Main;
";

fn texts(size: Size, component: &str, rules: &str, graph: &str) -> Vec<(&'static str, String)> {
    let component = sized(&component.replace("FRAME", FRAME), size);
    let mut rules = rules.replace("BATCH", &size.batch.to_string());
    if rules.contains("seen(") {
        rules += &sums(size);
    }
    let mut all = vec![("a.com", component), ("a.flow", graph.to_owned())];
    if !rules.is_empty() {
        all.push(("a.olg", rules));
    }
    all
}

pub fn bytes(size: Size) -> Vec<(&'static str, String)> {
    let rules = "
        e started(@N) :- start(@N).
        p field(@N, K, V) :- packet(@N, Port, Bytes),
            K := f_uintBE(Bytes, 36, 2), V := f_uintBE(Bytes, 34, 2).
        s seen(@N, K, A + V) :- field(@N, K, V), seen(@N, K, A).
        l last(@N, V) :- field(@N, K, V), K == BATCH.";
    texts(size, SENDER, rules, "src :: Outside\nrules :: Rules\nsrc -> rules\n")
}

pub fn fields(size: Size) -> Vec<(&'static str, String)> {
    let rules = "
        e started(@N) :- start(@N).
        s seen(@N, K, A + V) :- packet(@N, Port, Id, From, To, V, K, Length), seen(@N, K, A).
        l last(@N, V) :- packet(@N, Port, Id, From, To, V, K, Length), K == BATCH.";
    let graph = "src :: Outside
        rules :: Rules { fields: \"ip.src, ip.dst, udp.sport, udp.dport, len\", event: \"packet\" }
        src -> rules\n";
    texts(size, SENDER, rules, graph)
}

/// All packets return, sent by rules.
pub fn verdicts(size: Size) -> Vec<(&'static str, String)> {
    let rules = "v send(@N, \"src\", Id) :- packet(@N, Port, Id, K), K <= BATCH.";
    let graph = "src :: Outside
        rules :: Rules { fields: \"udp.dport\", event: \"packet\", verdict: \"send\" }
        src -> rules
        rules -> src\n";
    texts(size, RECEIVER, rules, graph)
}

/// All packets return.
pub fn outside(size: Size) -> Vec<(&'static str, String)> {
    let graph = "src :: Outside\ncut :: Truncate { length: 1000 }\nsrc -> cut -> src\n";
    texts(size, RECEIVER, "", graph)
}

pub fn decode(size: Size) -> Vec<(&'static str, String)> {
    let rules = "
        e started(@N) :- start(@N).
        s seen(@N, K, A + D) :- reading(@N, K, D, C, Room), seen(@N, K, A).
        l last(@N, D) :- reading(@N, K, D, C, Room), K == BATCH.";
    let graph = "src :: Outside
        read :: Decode {
            type: \"p.Reading\", from: \"udp.payload\", fields: \"udp.dport\", event: \"reading\"
        }
        src -> read\n";
    let mut all = texts(size, SENDER, rules, graph);
    all.push(("a.proto", SCHEMA.to_owned()));
    all
}

/// Sends each packet back.
const FLOW: &str = "
COMPONENT Flow REQUIRES Packets;
  VARIABLE frame: TEXT; isSent: BOOLEAN;
BEGIN
  Packets!Open(\"src\"); Packets?Opened;
  WHILE TRUE DO
    Packets!Receive; Packets?Packet(frame);
    Packets!Send(frame); Packets?Sent(isSent)
  END
END Flow;
";

fn scripted(size: Size, per: &str) -> Vec<(&'static str, String)> {
    let graph = format!(
        "src :: Outside\nflows :: Script {{ component: \"Flow\"{per} }}\nsrc -> flows -> src\n"
    );
    let receiver = RECEIVER.replace("COMPONENT Main", "COMPONENT {ENTRYPOINT} Main");
    texts(size, &format!("{FLOW}{receiver}"), "", &graph)
}

/// One component has all packets.
pub fn script(size: Size) -> Vec<(&'static str, String)> {
    scripted(size, "")
}

/// Each place is a flow.
pub fn flows(size: Size) -> Vec<(&'static str, String)> {
    scripted(size, ", per: \"udp.dport\"")
}
