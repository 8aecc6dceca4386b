//! Draws a QR code with half blocks, two modules a character.

use qrcode::{EcLevel, QrCode, types::Color};

/// Light modules around the code, as the standard asks for.
const QUIET_ZONE: usize = 4;
const BLACK_ON_WHITE: &str = "\x1b[30;107m";
const RESET: &str = "\x1b[0m";

/// The code as lines of text; nothing when the data does not fit any code.
///
/// With colour it is black on white on any terminal. Without, the light modules are drawn,
/// which reads well on dark terminals and in logs.
pub(crate) fn draw(data: &str, color: bool) -> Option<String> {
    let code = QrCode::with_error_correction_level(data, EcLevel::L).ok()?;
    let width = code.width();
    let modules = code.to_colors();
    let side = width + 2 * QUIET_ZONE;
    let dark = |x: usize, y: usize| {
        let inside = |at: usize| at.checked_sub(QUIET_ZONE).filter(|at| *at < width);
        match (inside(x), inside(y)) {
            (Some(x), Some(y)) => modules[y * width + x] == Color::Dark,
            _ => false,
        }
    };
    let mut text = String::new();
    for y in (0..side).step_by(2) {
        let row = (0..side).map(|x| half_block(dark(x, y) == color, dark(x, y + 1) == color));
        if color {
            text.push_str(BLACK_ON_WHITE);
            text.extend(row);
            text.push_str(RESET);
        } else {
            text.extend(row);
        }
        text.push('\n');
    }
    Some(text)
}

const fn half_block(upper: bool, lower: bool) -> char {
    match (upper, lower) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_a_quiet_zone_and_a_finder_pattern() {
        let text = draw("https://example.com/x", false).unwrap();
        let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
        let width = lines[0].len();
        assert!(lines.iter().all(|line| line.len() == width));
        assert!(lines[..2].iter().flatten().all(|c| *c == '█'));
        assert!(lines.iter().all(|line| line[..4] == ['█'; 4]));
        // The finder pattern's top row is seven dark modules over a light ring.
        let finder: String = lines[2][4..11].iter().collect();
        assert_eq!(finder, " ▄▄▄▄▄ ");
    }

    #[test]
    fn colour_turns_it_black_on_white() {
        let text = draw("x", true).unwrap();
        assert!(text.lines().all(|line| line.starts_with(BLACK_ON_WHITE)));
        assert!(text.lines().nth(2).unwrap().contains("█▀▀▀▀▀█"));
    }

    #[test]
    fn too_much_data_draws_nothing() {
        assert!(draw(&"x".repeat(4000), false).is_none());
    }
}
