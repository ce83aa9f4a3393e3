"""SGLang, exact for 0.5.23 and, by the switches of `versions`, for the releases before it."""
