//! Services and their methods.

use super::{Parsed, Parser};
use crate::proto::places::Ranges;
use crate::schema::draft::{MethodDraft, ServiceDraft};
use crate::schema::uninterpreted::TextRange;
use crate::schema::{Name, ServiceId};

impl Parser<'_> {
    pub(super) fn service(&mut self) -> Parsed {
        self.advance();
        let (name, range) = self.name("the name of a service")?;
        let place = self.place(Ranges { name: range, ..Ranges::default() });
        let service = ServiceDraft { name, file: self.file, place, ..ServiceDraft::default() };
        let id = self.draft.push_service(service);
        self.draft.file_mut(self.file).services.push(id);
        self.block(|parser| parser.service_statement(id))
    }

    fn service_statement(&mut self, id: ServiceId) -> Parsed {
        if self.at_word("option") {
            let mut options = self.draft.service_mut(id).options.take();
            let result = self.option_statement(&mut options);
            self.draft.service_mut(id).options = options;
            return result;
        }
        self.expect_word("rpc")?;
        let (name, range) = self.name("the name of a method")?;
        let (client_streaming, input_type, ty) = self.stream_type()?;
        self.expect_word("returns")?;
        let (server_streaming, output_type, other) = self.stream_type()?;
        let place = self.place(Ranges { name: range, number: (0, 0), ty, other });
        let mut method = MethodDraft {
            name,
            input_type,
            output_type,
            client_streaming,
            server_streaming,
            place,
            ..MethodDraft::default()
        };
        let result = if self.at_sign(b'{') {
            let mut options = None;
            let result = self.block(|parser| {
                if parser.at_word("option") {
                    parser.option_statement(&mut options)
                } else {
                    Err(parser.expected("`option`"))
                }
            });
            // Even an empty body gives the method options.
            method.options = Some(options.unwrap_or_default());
            result
        } else {
            self.end_statement()
        };
        self.draft.service_mut(id).methods.push(method);
        result
    }

    /// `(stream? Type)`.
    fn stream_type(&mut self) -> Parsed<(bool, Name, TextRange)> {
        self.expect_sign(b'(')?;
        let streams = self.take_word("stream");
        let (name, range) = self.path("the name of a message")?;
        self.expect_sign(b')')?;
        Ok((streams, name, range))
    }
}
