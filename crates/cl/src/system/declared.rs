//! The messages of each interface, as types.

use std::borrow::Cow;

use super::parameter::{Answer, Joined, Parameter, Response, Text, Typed};
use super::text::{Shape, declares, number};
use tidemill_proc::{Value, Values};

/// Makes a module of an interface, with requests and responses in the order of the text. Two
/// parameters of a type have names of their own, as in the text, which are not compared.
macro_rules! interface {
    (
        $(#[$doc:meta])*
        $module:ident: $name:literal, $file:literal;
        Request $(<$in:lifetime>)? {
            $($request:ident $({ $($taken:ident: $taken_type:ty),* })?,)*
        }
        Response $(<$out:lifetime>)? {
            $($response:ident $({ $($given:ident: $given_type:ty),* })?,)*
        }
    ) => {
        $(#[$doc])*
        #[allow(missing_docs, clippy::allow_attributes, reason = "the text says it")]
        pub mod $module {
            #[allow(unused_imports, reason = "not each has all types")]
            use super::*;

            /// The name of the interface.
            pub const NAME: &str = $name;

            /// Its declaration.
            pub const TEXT: &str = include_str!(concat!("interfaces/", $file));

            /// A request of a client.
            #[derive(Clone, Copy, Debug)]
            pub enum Request $(<$in>)? {
                $($request $({ $($taken: $taken_type),* })?,)*
            }

            impl $(<$in>)? Request $(<$in>)? {
                const SHAPES: &'static [Shape] = &[
                    $((stringify!($request), &[$($(<$taken_type as Typed>::TYPES),*)?]),)*
                ];

                /// The request of this number in the interface, with its parameters.
                pub fn of(message: u32, values: &$($in)? Values) -> Option<Self> {
                    $({
                        const NUMBER: u32 = number(TEXT, stringify!($request));
                        if message == NUMBER {
                            return Some(Request::$request {
                                $($($taken: Parameter::take(values)),*)?
                            });
                        }
                    })*
                    let _ = values;
                    None
                }
            }

            /// A response.
            #[derive(Clone, PartialEq, Debug)]
            pub enum Response $(<$out>)? {
                $($response $({ $($given: $given_type),* })?,)*
            }

            impl $(<$out>)? Response $(<$out>)? {
                const SHAPES: &'static [Shape] = &[
                    $((stringify!($response), &[$($(<$given_type as Typed>::TYPES),*)?]),)*
                ];
            }

            impl $(<$out>)? super::Response for Response $(<$out>)? {
                fn send<R>(self, to: impl FnOnce(u32, &[Value<'_>]) -> R) -> R {
                    match self {
                        $(Response::$response { $($($given),*)? } => {
                            const NUMBER: u32 = number(TEXT, stringify!($response));
                            to(NUMBER, &[$($(Answer::value($given)),*)?])
                        })*
                    }
                }
            }

            const _: () = assert!(
                declares(TEXT, NAME, Request::SHAPES, Response::SHAPES),
                concat!("the types and the text of ", $name, " differ"),
            );
        }
    };
}

interface! {
    /// The wall clock, in milliseconds since the epoch of Unix, and pauses.
    system_time: "SystemTime", "system_time.com";
    Request {
        GetSystemTime, Wait { ms: i64 },
    }
    Response {
        SystemTime { ticks: i64 }, Passed,
    }
}

interface! {
    /// Files below one folder.
    file_system: "FileSystem", "file_system.com";
    Request<'v> {
        New { name: Text<'v> }, Open { name: Text<'v> }, SetPosition { position: i64 },
        GetPosition, GetLength, ReadByte, ReadLine, Write { x: u8 }, WriteText { x: Text<'v> },
        Update, Close,
    }
    Response<'v> {
        Done, Position { pos: i64 }, Length { len: i64 }, Byte { x: u8 },
        Line { x: Cow<'v, [u8]> }, EOF, Failed,
    }
}

interface! {
    /// A screen in layers.
    graphic_view: "GraphicView", "graphic_view.com";
    Request {
        Clear, GetSize, Pixel { x: i64, y: i64, color: i64 },
        Font { x: i64, y: i64, char: u8, color: i64 },
        Fill { x: i64, y: i64, w: i64, h: i64, color: i64 }, SetLayer { level: i64 },
        DrawLayers,
    }
    Response {
        Size { width: i64, height: i64, bg_color: i64 },
    }
}

interface! {
    /// The standard input, as bytes and lines.
    input: "Input", "input.com";
    Request {
        ReadByte, ReadLine,
    }
    Response<'v> {
        Byte { x: u8 }, Line { x: Cow<'v, [u8]> }, EOF,
    }
}

interface! {
    /// The arguments after `--` on the command line.
    arguments: "Arguments", "arguments.com";
    Request {
        GetCount, Get { i: i64 },
    }
    Response<'v> {
        Count { n: i64 }, Argument { x: Cow<'v, [u8]> },
    }
}

interface! {
    /// Connections (TCP) and datagrams (UDP).
    network: "Network", "network.com";
    Request<'v> {
        Listen { address: Text<'v> }, Connect { address: Text<'v> }, Take { id: i64 },
        Bind { address: Text<'v> }, Accept, Send { data: &'v [u8] }, Receive,
        SendTo { address: Text<'v>, data: &'v [u8] }, ReceiveFrom, Close,
    }
    Response<'v> {
        Failed { reason: Cow<'v, [u8]> }, Opened { address: Cow<'v, [u8]> },
        Accepted { id: i64 }, Data { data: Cow<'v, [u8]> }, End,
        Datagram { address: Cow<'v, [u8]>, data: Cow<'v, [u8]> },
    }
}

interface! {
    /// Memory shared with other processes, for components that are drivers.
    pore: "Pore", "pore.com";
    Request<'v> {
        Open { kind: Text<'v>, argument: Text<'v> }, Take { id: i64 }, Avail, Read { n: i64 },
        Peek { n: i64 }, Get { offset: i64, length: i64 }, Write { data: &'v [u8] },
        Send { parts: Joined<'v, 4> }, Put { offset: i64, data: &'v [u8] },
        Load { offset: i64, width: i64 }, Store { offset: i64, width: i64, value: i64 }, Ring,
        Arm { readable: i64, writable: i64 }, Next { n: i64, writable: i64 },
        Ask { n: i64, parts: Joined<'v, 4> }, Close, HandOver,
    }
    Response<'v> {
        Failed { reason: Cow<'v, [u8]> }, Opened { size: i64 },
        Available { readable: i64, writable: i64 }, Data { data: Cow<'v, [u8]> },
        Accepted { n: i64 }, Loaded { value: i64 }, Event { readable: i64, writable: i64 },
        Came { data: Cow<'v, [u8]>, until: i64 }, Trouble { reason: Cow<'v, [u8]> },
        Handed { id: i64 },
    }
}

interface! {
    /// The store of a hypervisor.
    xenstore: "Xenstore", "xenstore.com";
    Request<'v> {
        Connect { kind: Text<'v>, address: Text<'v> },
        Write { path: Text<'v>, value: &'v [u8], transaction: i64 },
        Read { path: Text<'v>, transaction: i64 },
        MakeDirectory { path: Text<'v>, transaction: i64 },
        Remove { path: Text<'v>, transaction: i64 },
        Directory { path: Text<'v>, transaction: i64 },
        GetPermissions { path: Text<'v>, transaction: i64 },
        SetPermissions { path: Text<'v>, permissions: Text<'v>, transaction: i64 },
        Watch { path: Text<'v>, token: Text<'v> }, Unwatch { path: Text<'v>, token: Text<'v> },
        Start, Commit { transaction: i64 }, Abort { transaction: i64 }, Next, Close,
    }
    Response<'v> {
        Refused { reason: Cow<'v, [u8]> }, Connected, Done { result: Cow<'v, [u8]> },
        Failed { error: Cow<'v, [u8]> }, Fired { path: Cow<'v, [u8]>, token: Cow<'v, [u8]> },
    }
}

interface! {
    /// The packet graph that runs beside the components, or the ports of an app.
    packets: "Packets", "packets.com";
    Request<'v> {
        Open { app: Text<'v> }, Send { packet: &'v [u8] }, Receive, GetTime, Close,
    }
    Response<'v> {
        Failed { reason: Cow<'v, [u8]> }, Opened, Sent { is_sent: bool },
        Packet { packet: Cow<'v, [u8]> }, Time { time: i64 },
    }
}

interface! {
    /// Values of the types that the schemas of the program have.
    messages: "Messages", "messages.com";
    Request<'v> {
        New { type_name: Text<'v> }, Decode { type_name: Text<'v>, data: &'v [u8] }, Encode,
        Index { place: i64 }, Has { path: Text<'v> }, Count { path: Text<'v> },
        GetInteger { path: Text<'v> }, GetReal { path: Text<'v> },
        GetBoolean { path: Text<'v> }, GetText { path: Text<'v> },
        SetInteger { path: Text<'v>, value: i64 }, SetReal { path: Text<'v>, value: f64 },
        SetBoolean { path: Text<'v>, value: bool }, SetText { path: Text<'v>, value: &'v [u8] },
        Clear { path: Text<'v> },
    }
    Response<'v> {
        Done, Integer { value: i64 }, Real { value: f64 }, Boolean { value: bool },
        Text { value: Cow<'v, [u8]> }, Failed { reason: Cow<'v, [u8]> },
    }
}
