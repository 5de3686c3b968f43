//! Packet apps: what graphs are commonly made of.
//!
//! Each app is one file with its declaration, which is also its manual (`tidemill apps NAME`). They
//! use the public interface of the packet engine only, as a third party's app would. Those that are
//! programs for one packet are written in the language of graphs: [`builtin`].
//!
//! ```
//! use tidemill_packet::engine::{Engine, Options, Rest};
//! use tidemill_packet::flow::{self, load_text};
//! use tidemill_diag::Sources;
//!
//! let text = "
//!     src :: Source { packets: 100, size: 60 }
//!     cut :: Truncate { length: 14 }
//!     end :: Sink
//!     src -> cut -> end
//! ";
//! let catalogue = tidemill_apps::catalogue();
//! let options = flow::Options::default();
//! let loaded = load_text("a.flow", text, &options, &catalogue, &mut Sources::new());
//! let mut engine = Engine::new(Options::default());
//! engine.configure(loaded.graph.ok_or("the graph is right")?)?;
//! while engine.breathe() != Rest::Finished {}
//! let end = engine.link_stats("cut.output->end.cut").ok_or("this link is there")?;
//! assert_eq!((end.rx_packets, end.rx_bytes), (100, 1400));
//! assert_eq!(engine.pool_stats().alive(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | for | apps |
//! |---|---|
//! | beginnings | [`source`], [`generator`], [`pcap_reader`] |
//! | ends | [`sink`], [`pcap_writer`] |
//! | the system | [`device`]: TAP devices, packet sockets, AF_XDP, Unix sockets |
//! | components | [`outside`] |
//! | ways | [`tee`], [`join`], [`split`], [`repeater`], [`delay`], [`pcap_tap`], [`matching`] |
//! | any packets | [`filter`]; written in the language of graphs: [`builtin`] |
//! | Ethernet | [`vlan_mux`], [`learning_bridge`], [`flooding_bridge`] |
//! | flows | [`flow_export`] |
//! | IPv4 | [`arp`], [`icmp_echo`], [`fragment`], [`reassemble`], [`nat44`] |
//!
//! [`capture`] reads and writes captures, [`net`] knows headers, and [`frame`] writes frames as
//! text.
#![forbid(unsafe_code)]

pub mod arp;
pub mod builtin;
pub mod capture;
mod code;
pub mod delay;
pub mod device;
pub mod filter;
pub mod flooding_bridge;
pub mod flow_export;
pub mod fragment;
pub mod frame;
pub mod generator;
pub mod icmp_echo;
pub mod join;
pub mod learning_bridge;
pub mod matching;
pub mod nat44;
pub mod net;
pub mod outside;
pub mod pcap_reader;
pub mod pcap_tap;
pub mod pcap_writer;
pub mod reassemble;
pub mod repeater;
pub mod sink;
pub mod source;
pub mod split;
pub mod tcp_reassemble;
pub mod tee;
pub mod vlan_mux;
mod written;

use tidemill_packet::app::{Catalogue, Declared, Settings};
use tidemill_packet::fanout::PortBlocks;
use tidemill_packet::graph::Graph;

/// All app types of this crate.
pub fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::new(&[
        arp::Arp::declaration(),
        delay::Delay::declaration(),
        filter::Filter::declaration(),
        flooding_bridge::FloodingBridge::declaration(),
        flow_export::FlowExport::declaration(),
        fragment::Fragment::declaration(),
        generator::Generator::declaration(),
        icmp_echo::IcmpEcho::declaration(),
        join::Join::declaration(),
        learning_bridge::LearningBridge::declaration(),
        matching::Match::declaration(),
        nat44::Nat44::declaration(),
        outside::Outside::declaration(),
        pcap_reader::PcapReader::declaration(),
        pcap_tap::PcapTap::declaration(),
        pcap_writer::PcapWriter::declaration(),
        reassemble::Reassemble::declaration(),
        repeater::Repeater::declaration(),
        sink::Sink::declaration(),
        source::Source::declaration(),
        split::Split::declaration(),
        tcp_reassemble::TcpReassemble::declaration(),
        tee::Tee::declaration(),
        device::unix_socket::UnixSocket::declaration(),
        vlan_mux::VlanMux::declaration(),
        device::raw_socket::RawSocket::declaration(),
        device::tap::Tap::declaration(),
        device::xdp_socket::XdpSocket::declaration(),
    ]);
    builtin::declarations().iter().for_each(|one| catalogue.add(one));
    catalogue
}

/// The ports to which answers return, of all translators of a graph.
pub fn port_blocks(graph: &Graph) -> Vec<PortBlocks> {
    let translators = graph.apps.iter().filter(|app| app.kind == nat44::Nat44::declaration());
    let configs = translators.map(|app| nat44::Nat44Config::read(&app.config));
    configs.filter_map(|config| Some(config.ok()?.blocks())).collect()
}

#[cfg(test)]
mod tests {
    use super::Declared;

    #[test]
    fn the_list_of_types_has_a_whole_sentence_for_each() {
        for declaration in super::catalogue().types() {
            let summary = declaration.summary();
            assert!(summary.ends_with('.') && !summary.contains('\n'), "{summary}");
        }
        let nat = super::nat44::Nat44::declaration().summary();
        assert!(nat.ends_with("(TCP, UDP, ICMP echo)."), "{nat}");
    }
}
