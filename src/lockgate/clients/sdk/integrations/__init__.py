"""The gate inside agent frameworks: one module for each, which needs that framework's package (see ``docs/sdk.md``)."""
