//! The screen and its layers.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use tidemill_proc::{Communication, CommunicationMap};
use tidemill_stdx::sorted::SortedMap;

use crate::components::system::glyphs;

pub(super) const WIDTH: usize = 1024;

pub(super) const HEIGHT: usize = 768;

pub(super) const GROUND: u32 = 0;

/// A pixel that nothing was drawn on; no colour has this bit.
pub(super) const CLEAR: u32 = 1 << 24;

/// The maximum number of layers; drawings on further ones are ignored.
const LAYERS_MAX: usize = 64;

type Pixels = Vec<u32>;

/// The screen, the layers, and the layer of each client.
#[derive(Default)]
pub(in crate::components::system) struct View {
    shown: Pixels,
    layers: SortedMap<i64, Pixels>,
    pub(super) levels: CommunicationMap<i64>,
}

/// A part of the screen.
pub(super) struct Rectangle {
    columns: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
}

impl Rectangle {
    /// A rectangle clipped to the screen.
    pub(super) fn clipped(x: i64, y: i64, width: i64, height: i64) -> Rectangle {
        let clip = |from: i64, length: i64, limit: usize| {
            let end = from.saturating_add(length.max(0)).clamp(0, limit as i64);
            (from.clamp(0, limit as i64) as usize)..(end as usize)
        };
        Rectangle { columns: clip(x, width, WIDTH), rows: clip(y, height, HEIGHT) }
    }

    fn paint(&self, pixels: &mut Pixels, color: u32) {
        if pixels.is_empty() {
            pixels.resize(WIDTH * HEIGHT, CLEAR);
        }
        for row in self.rows.clone() {
            let start = row * WIDTH;
            if self.columns.start < self.columns.end {
                pixels[start + self.columns.start..start + self.columns.end].fill(color);
            }
        }
    }
}

impl View {
    /// Draws on the layer of a client.
    pub(super) fn paint(&mut self, client: Communication, part: &Rectangle, color: u32) {
        let level = self.levels.get(client).copied().unwrap_or(0);
        if self.layers.len() >= LAYERS_MAX && !self.layers.contains_key(&level) {
            return;
        }
        part.paint(self.layers.entry(level).or_default(), color);
        if level == 0 {
            part.paint(&mut self.shown, color);
        }
    }

    pub(super) fn character(
        &mut self,
        client: Communication,
        x: i64,
        y: i64,
        character: u8,
        color: u32,
    ) {
        for (row, bits) in glyphs::glyph(character).into_iter().enumerate() {
            for column in 0..glyphs::WIDTH {
                if bits >> (glyphs::WIDTH - 1 - column) & 1 == 1 {
                    let (x, y) = (x.saturating_add(column), y.saturating_add(row as i64));
                    self.paint(client, &Rectangle::clipped(x, y, 1, 1), color);
                }
            }
        }
    }

    pub(super) fn draw_layers(&mut self) {
        self.shown.clear();
        self.shown.resize(WIDTH * HEIGHT, CLEAR);
        for layer in self.layers.values() {
            for (to, &pixel) in self.shown.iter_mut().zip(layer) {
                if pixel != CLEAR {
                    *to = pixel;
                }
            }
        }
    }

    pub(in crate::components::system) fn finished(&mut self, client: Communication) {
        self.levels.remove(client);
    }

    /// What is on the screen, three bytes a pixel.
    fn picture(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(WIDTH * HEIGHT * 3);
        for index in 0..WIDTH * HEIGHT {
            let pixel = self.shown.get(index).copied().unwrap_or(CLEAR);
            let color = if pixel == CLEAR { GROUND } else { pixel };
            bytes.extend_from_slice(&color.to_be_bytes()[1..]);
        }
        bytes
    }

    /// Writes what is on the screen.
    pub(in crate::components::system) fn write_png(&self, path: &Path) -> io::Result<()> {
        let file = BufWriter::new(File::create(path)?);
        let mut encoder = png::Encoder::new(file, WIDTH as u32, HEIGHT as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.picture())?;
        Ok(writer.finish()?)
    }
}
