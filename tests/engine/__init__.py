"""The engine as it is: real processes, a real store, real crashes."""
