//! What each code asks for. Codes come with HTTP 400 as a rule, so the status decides only where
//! there is no code.

/// What to do about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// It worked.
    Good,
    /// Try the same again later; this call only.
    Again,
    /// Too many calls of this app: everything waits.
    Slower,
    /// The token is no longer good.
    Token,
    /// The message that is answered is gone.
    Withdrawn,
    /// The text is not taken as it is.
    Content,
    /// No.
    Final,
}

/// The class of an answer.
pub(super) const fn class(status: u16, code: Option<i64>) -> Class {
    match (status, code) {
        (200..=299, Some(0)) => Class::Good,
        (_, Some(code)) if code != 0 => of_code(status, code),
        (429, _) => Class::Slower,
        (401, _) => Class::Token,
        // A gateway of the network answers in HTML, with a redirect, or with nothing.
        (200..=399, _) | (408, _) | (500.., _) => Class::Again,
        _ => Class::Final,
    }
}

const fn of_code(status: u16, code: i64) -> Class {
    match code {
        99_991_400 => Class::Slower,
        // Limits of one chat or person; "being sent" is a retry that met its own first try; the
        // rest is the platform's own trouble.
        230_020 | 11_232 | 11_233 | 11_247 | 230_049 | 18_121 | 2_200 | 1_500 | 1_663 | 5_000
        | 1 => Class::Again,
        99_991_661 | 99_991_663 | 99_991_664 | 99_991_665 | 99_991_668 | 99_991_671 | 20_005
        | 20_013 | 4_001 => Class::Token,
        230_011 | 231_003 => Class::Withdrawn,
        230_001 => Class::Content,
        _ if status >= 500 || status == 429 || status == 408 => Class::Again,
        _ => Class::Final,
    }
}

/// Whether the token endpoint refuses the app id or the secret themselves.
pub(super) const fn is_wrong_secret(code: Option<i64>) -> bool {
    matches!(code, Some(10_003 | 10_014 | 10_015))
}

/// What a refusal of a message means, for the person who runs the daemon.
pub(crate) const fn meaning(code: i64) -> Option<&'static str> {
    Some(match code {
        230_001 => "the text was not taken, not even as plain characters",
        230_002 => "the bot is not in that chat",
        230_006 => "the app's bot ability is off; switch it on in the developer console",
        230_011 | 231_003 => "the message was withdrawn before it was answered",
        230_013 => "the person is not in the range of people who may use the app",
        230_017 | 230_018 | 230_035 | 230_036 | 230_038 | 230_050 => "the bot may not write there",
        230_022 | 230_028 => "the platform's moderation did not let the text pass",
        230_025 => "the text is too long for the platform",
        230_029 => "the person has left the company",
        230_053 => "the person has stopped the bot",
        230_101 => "the platform does not send to that person at present",
        232_009 => "the group was dissolved",
        99_991_401 => "this machine's address is not in the app's list of allowed addresses",
        99_991_403 => "the app's calls of this month are used up",
        99_991_672 | 99_991_673 => "the app lacks a permission; grant it in the developer console",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coded(code: i64) -> Class {
        class(400, Some(code))
    }

    #[test]
    fn success_is_a_2xx_with_code_0() {
        assert_eq!(class(200, Some(0)), Class::Good);
        assert_eq!(class(400, Some(0)), Class::Final);
    }

    #[test]
    fn every_code_has_its_class_with_http_400() {
        for code in [230_020, 11_232, 11_233, 11_247, 230_049, 18_121, 2_200, 1_500, 1_663, 5_000] {
            assert_eq!(coded(code), Class::Again, "{code}");
        }
        for code in [99_991_663, 99_991_664, 99_991_665, 99_991_668, 99_991_671, 99_991_661] {
            assert_eq!(coded(code), Class::Token, "{code}");
        }
        assert_eq!(coded(99_991_400), Class::Slower);
        for code in [230_002, 230_028, 230_025, 230_101, 99_991_672, 99_992_354, -1, 7] {
            assert_eq!(coded(code), Class::Final, "{code}");
        }
        assert_eq!((coded(230_011), coded(231_003)), (Class::Withdrawn, Class::Withdrawn));
        assert_eq!(coded(230_001), Class::Content);
    }

    #[test]
    fn without_a_code_the_status_decides() {
        for status in [200, 204, 302, 408, 500, 502, 503] {
            assert_eq!(class(status, None), Class::Again, "{status}");
        }
        assert_eq!(class(429, None), Class::Slower);
        assert_eq!(class(401, None), Class::Token);
        for status in [400, 403, 404, 413] {
            assert_eq!(class(status, None), Class::Final, "{status}");
        }
    }

    #[test]
    fn trouble_of_the_server_is_never_final() {
        assert_eq!(class(503, Some(7)), Class::Again);
        assert_eq!(class(429, Some(99_991_400)), Class::Slower);
    }
}
