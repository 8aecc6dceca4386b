//! Text in columns.

/// Lines up rows under a head; the last column is never padded.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].len()]).max().unwrap_or_default()
    });
    let mut text = String::new();
    push_row(&mut text, &head.map(str::to_owned), widths);
    for row in rows {
        push_row(&mut text, row, widths);
    }
    text
}

fn push_row<const N: usize>(text: &mut String, row: &[String; N], widths: [usize; N]) {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        line.push_str(&format!("{cell:width$}  "));
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// How long ago something was, in words.
pub(crate) fn ago(unix_seconds: u64, now_unix_seconds: u64) -> String {
    format!("{} ago", age(now_unix_seconds.saturating_sub(unix_seconds)))
}

/// A span of time in words.
pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["a".to_owned(), "x".to_owned()], ["bcd".into(), String::new()]];
        assert_eq!(table(["N", "LAST"], &rows), "N    LAST\na    x\nbcd\n");
    }

    #[test]
    fn ages_read_well() {
        let words = [0, 119, 120, 7_200, 172_800].map(|age| ago(1_000_000 - age, 1_000_000));
        assert_eq!(words, ["0 s ago", "119 s ago", "2 min ago", "2 h ago", "2 days ago"]);
    }
}
