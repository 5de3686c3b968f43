//! GraphicView: a screen of 1024 x 768 pixels in layers.
//!
//! Colours are 0RRGGBBH. Who has not named a layer draws on layer 0, which is seen at once;
//! what is drawn on others is seen from the next DrawLayers on, which draws all layers in
//! ascending order on a black ground. A layer shows what is below it wherever nothing has been
//! drawn on it. What lies outside of the screen is not drawn.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use tidemill_event::Loop;
use tidemill_proc::{Communication, CommunicationMap, Values};
use tidemill_stdx::sorted::SortedMap;

use super::{Machine, glyphs, integer};

const WIDTH: usize = 1024;
const HEIGHT: usize = 768;
const GROUND: u32 = 0;
/// A pixel that nothing was drawn on; no colour has this bit.
const CLEAR: u32 = 1 << 24;
/// What is drawn on further layers is not seen.
const LAYERS_MAX: usize = 64;

type Pixels = Vec<u32>;

/// The screen, the layers, and on which of them each client draws.
#[derive(Default)]
pub(super) struct View {
    shown: Pixels,
    layers: SortedMap<i64, Pixels>,
    levels: CommunicationMap<i64>,
}

/// A part of the screen.
struct Rectangle {
    columns: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
}

impl Rectangle {
    /// What of it is on the screen.
    fn clipped(x: i64, y: i64, width: i64, height: i64) -> Rectangle {
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
    fn paint(&mut self, client: Communication, part: &Rectangle, color: u32) {
        let level = self.levels.get(client).copied().unwrap_or(0);
        if self.layers.len() >= LAYERS_MAX && !self.layers.contains_key(&level) {
            return;
        }
        part.paint(self.layers.entry(level).or_default(), color);
        if level == 0 {
            part.paint(&mut self.shown, color);
        }
    }

    fn character(&mut self, client: Communication, x: i64, y: i64, character: u8, color: u32) {
        for (row, bits) in glyphs::glyph(character).into_iter().enumerate() {
            for column in 0..glyphs::WIDTH {
                if bits >> (glyphs::WIDTH - 1 - column) & 1 == 1 {
                    let (x, y) = (x.saturating_add(column), y.saturating_add(row as i64));
                    self.paint(client, &Rectangle::clipped(x, y, 1, 1), color);
                }
            }
        }
    }

    fn draw_layers(&mut self) {
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

    pub(super) fn finished(&mut self, client: Communication) {
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
    pub(super) fn write_png(&self, path: &Path) -> io::Result<()> {
        let file = BufWriter::new(File::create(path)?);
        let mut encoder = png::Encoder::new(file, WIDTH as u32, HEIGHT as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.picture())?;
        Ok(writer.finish()?)
    }
}

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    message: &str,
    values: &Values,
) {
    let next = || values.integer();
    let color = |value: i64| (value & 0xFF_FFFF) as u32;
    let view = &mut world.node.systems.view;
    match message {
        "Clear" => {
            let all = Rectangle::clipped(0, 0, WIDTH as i64, HEIGHT as i64);
            view.paint(from, &all, CLEAR);
        }
        "GetSize" => {
            let size = [WIDTH as i64, HEIGHT as i64, i64::from(GROUND)].map(integer);
            world.answer(lp, from, "Size", &size);
        }
        "Pixel" => {
            let part = Rectangle::clipped(next(), next(), 1, 1);
            view.paint(from, &part, color(next()));
        }
        "Fill" => {
            let part = Rectangle::clipped(next(), next(), next(), next());
            view.paint(from, &part, color(next()));
        }
        "Font" => {
            let (x, y, character) = (next(), next(), next());
            view.character(from, x, y, character as u8, color(next()));
        }
        "SetLayer" => {
            view.levels.insert(from, next());
        }
        "DrawLayers" => view.draw_layers(),
        _ => {}
    }
}
