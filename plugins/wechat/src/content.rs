//! What the items of a message say: text, speech, files, and what is quoted.

use scv_plugin_api::wire::{InboundKind, Media, Quote};

use crate::{
    blank::is_blank,
    fields::Fields,
    limits::{MEDIA_COUNT, NAME_BYTES},
    quote::read_quote,
};

const TEXT: i64 = 1;
const IMAGE: i64 = 2;
const VOICE: i64 = 3;
const FILE: i64 = 4;
const VIDEO: i64 = 5;

/// The items of one message, put together.
#[derive(Default)]
pub(crate) struct Content {
    /// All text items and transcripts, a line each.
    pub(crate) text: Option<String>,
    /// Part of the text is a transcript.
    pub(crate) spoken: bool,
    /// What cannot be read here.
    pub(crate) media: Vec<Media>,
    /// The first quote that has words.
    pub(crate) quote: Option<Quote>,
}

impl Content {
    /// Reads the items; odd ones say nothing.
    pub(crate) fn read(items: &[&str]) -> Self {
        let mut content = Self::default();
        for item in items.iter().filter_map(|item| Fields::parse(item)) {
            content.add(&item);
        }
        content
    }

    /// What the message is: text, something that cannot be read, or none of these.
    pub(crate) fn kind(&self) -> InboundKind {
        match (&self.text, self.media.as_slice()) {
            (Some(_), _) => InboundKind::Text,
            (None, [_, ..]) => InboundKind::Unreadable,
            (None, []) => InboundKind::Ignored,
        }
    }

    fn add(&mut self, item: &Fields<'_>) {
        self.quote = self.quote.take().or_else(|| read_quote(item));
        match item.integer("type") {
            Some(TEXT) => self.add_text(words(item, "text_item")),
            Some(VOICE) => match words(item, "voice_item") {
                Some(transcript) => {
                    self.spoken = true;
                    self.add_text(Some(transcript));
                }
                None => self.add_media(media("audio")),
            },
            Some(IMAGE) => self.add_media(media("image")),
            Some(FILE) => self.add_media(file(item)),
            Some(VIDEO) => self.add_media(media("video")),
            // Cards, articles, locations and stickers come as one number or another.
            Some(_) => self.add_media(media("other")),
            None => {}
        }
    }

    fn add_text(&mut self, words: Option<String>) {
        let Some(words) = words else { return };
        match &mut self.text {
            Some(text) => {
                text.push('\n');
                text.push_str(&words);
            }
            None => self.text = Some(words),
        }
    }

    fn add_media(&mut self, media: Media) {
        if self.media.len() < MEDIA_COUNT {
            self.media.push(media);
        }
    }
}

fn words(item: &Fields<'_>, holder: &str) -> Option<String> {
    item.object(holder)?.text("text").filter(|text| !is_blank(text))
}

fn media(kind: &str) -> Media {
    Media { kind: kind.to_owned(), name: None, bytes: None, handle: None }
}

fn file(item: &Fields<'_>) -> Media {
    let Some(file) = item.object("file_item") else { return media("file") };
    let name = file.filled("file_name", NAME_BYTES);
    // The platform writes the size as text.
    let bytes = file.text("len").and_then(|len| len.parse().ok());
    Media { name, bytes, ..media("file") }
}
