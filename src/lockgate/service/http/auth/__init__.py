"""Who may use the dashboard: login links, tokens, sessions."""
