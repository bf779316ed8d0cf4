"""Translation of guest code to native code; see docs/engine.md."""
