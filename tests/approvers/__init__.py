"""Asking people: questions that wait, what rings for them, what tells them, and where keys lie."""
