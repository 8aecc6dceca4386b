//! Text that a person would not see.

/// True when nothing of the text is visible: blanks, control characters, and what Unicode calls
/// default-ignorable.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_invisible)
}

fn is_invisible(c: char) -> bool {
    c.is_whitespace() || c.is_control() || is_ignorable(c) || c == BRAILLE_BLANK
}

const BRAILLE_BLANK: char = '\u{2800}';

/// `Default_Ignorable_Code_Point` of Unicode 16.0 (DerivedCoreProperties.txt).
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_invisible_characters_are_blank() {
        for text in ["", "   \n\u{200b}", "\u{feff}\t", "\u{3000}\u{2800}", "\u{200e}\u{fe0f}\0"] {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["a", " . ", "\u{200b}好", "👍\u{fe0f}", "\u{300}"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }
}
