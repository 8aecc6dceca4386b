//! What a person can do about an error.

use scv_protocol::Component;

/// Puts into the hint what the error says to do: errors here read "what; what to do".
pub(super) fn with_hint(mut component: Component) -> Component {
    let advice = component.error.as_deref().and_then(|error| error.rsplit_once("; "));
    component.hint = advice.map(|(_, to_do)| to_do.to_owned());
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_is_what_the_error_says_to_do() {
        for (error, hint) in [
            (None, None),
            (Some("broken"), None),
            (Some("broken; mend it"), Some("mend it")),
            (Some("broken here; and there; mend it"), Some("mend it")),
        ] {
            let error = error.map(str::to_owned);
            let told = with_hint(Component { error, ..Component::default() });
            assert_eq!(told.hint.as_deref(), hint);
        }
    }
}
