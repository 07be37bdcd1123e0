"""Speed, as ratios of variants measured side by side in one run. Neither in the library nor in its tests."""
